//! Follows a plan of turns as far as the program allows, and records the turns of the execution.
//!
//! A turn of a plan names a task, and the number of steps that this task has taken since the start
//! of the execution when the turn ends. So every turn has a defined end, even if other turns are
//! left out or merged: the task takes the steps of a missing turn in its next turn.

use std::cell::RefCell;
use std::rc::Rc;

use super::{ChoicePoint, Decision, Ended, Progress, SchedulingPoint, Strategy};
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};
use crate::{Trace, TraceStep};
use chess_vocabulary::TaskId;

/// The number of turns among which the next turn of a plan is searched.
const LOOK_AHEAD: usize = 64;

/// The steps of one task until another one runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Turn {
    pub task: TaskId,
    /// The number of steps that the task has taken since the start of the execution when the turn
    /// ends.
    pub until: u32,
    /// The turn ends after the step `until` even if that is a preemption. A turn that is not exact
    /// continues until the task blocks, ends or yields.
    pub exact: bool,
    /// The turn begins with a timeout that fires although another task could run, or its task
    /// yielded before and continues although a fair scheduler would let others run first.
    pub early: bool,
}

/// An operation whose outcome is not the ordinary one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Draw {
    pub task: TaskId,
    /// The number of operations with a choice that the task had performed before.
    pub nth: u32,
    pub outcome: u32,
}

/// A schedule that also fits slightly different executions. After its end, an execution continues
/// without preemptions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Plan {
    pub(crate) turns: EngineVec<Turn>,
    pub draws: EngineVec<Draw>,
}

/// The schedule that an execution follows.
pub enum Source {
    /// A list of decisions.
    Schedule(EngineVec<Decision>),
    /// A plan of turns.
    Plan(Plan),
}

/// The kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Default,
    Free,
    Preemption,
    Early,
}

/// One execution along a [`Source`].
pub struct GuidedReplay {
    source: Source,
    /// The number of steps of the trace that were read so far.
    seen: usize,
    current: TaskId,
    /// The number of steps of each task.
    steps: EngineVec<u32>,
    /// For each task, the number of its operations with a choice so far.
    choices: EngineVec<u32>,
    /// The index of the current turn in the source, if the source has one.
    turn: Option<usize>,
    /// All turns of the source before this index are over.
    head: usize,
    /// For each turn of the source, whether it was over when the execution last left it.
    over: EngineVec<bool>,
    taken: EngineVec<Taken>,
    /// The plan that leads to this execution. Complete after the execution has ended.
    plan: Plan,
    switches: u64,
}

impl GuidedReplay {
    /// A replay that takes its decisions from `source`.
    pub fn new(source: Source) -> Self {
        let mut replay = Self {
            source,
            seen: 0,
            current: TaskId(0),
            steps: engine_vec(),
            choices: engine_vec(),
            turn: None,
            head: 0,
            over: engine_vec(),
            taken: engine_vec(),
            plan: Plan {
                turns: engine_vec(),
                draws: engine_vec(),
            },
            switches: 0,
        };
        replay.start();
        replay
    }

    /// A plan that leads to the same execution. Valid after the execution has ended.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of switches between tasks.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    fn start(&mut self) {
        self.seen = 0;
        self.current = TaskId(0);
        self.steps.clear();
        self.choices.clear();
        self.turn = None;
        self.head = 0;
        self.over.clear();
        self.over.resize(self.turns().len(), false);
        self.taken.clear();
        self.plan.draws.clear();
    }

    fn turns(&self) -> &[Turn] {
        match &self.source {
            Source::Plan(plan) => &plan.turns,
            Source::Schedule(_) => &[],
        }
    }

    fn steps_of(&self, task: TaskId) -> u32 {
        self.steps.get(task.0 as usize).copied().unwrap_or(0)
    }

    /// Counts the steps since the last decision.
    fn read(&mut self, trace: &Trace) {
        while let Some(step) = trace.steps.get(self.seen) {
            let task = step.task;
            if self.turn.is_none_or(|turn| self.turns()[turn].task != task) {
                // The task ran without a decision: no other task could run.
                self.leave();
                self.turn = self.find(|turn| turn.task == task);
            }
            self.current = task;
            *at(&mut self.steps, task) += 1;
            self.seen += 1;
        }
    }

    /// Leaves the current turn. It may continue later if it is not over.
    fn leave(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.over[turn] = self.is_over(turn);
        }
    }

    fn is_over(&self, turn: usize) -> bool {
        let Turn { task, until, .. } = self.turns()[turn];
        self.over[turn] || self.steps_of(task) >= until
    }

    /// The index of the first turn of the source that is not over, and for which `suits` returns
    /// `true`. Inspects at most [`LOOK_AHEAD`] turns.
    fn find(&mut self, mut suits: impl FnMut(&Turn) -> bool) -> Option<usize> {
        while self.head < self.over.len() && self.is_over(self.head) {
            self.head += 1;
        }
        (self.head..self.over.len())
            .filter(|&turn| !self.is_over(turn))
            .take(LOOK_AHEAD)
            .find(|&turn| suits(&self.turns()[turn]))
    }

    fn next_of_plan(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let place = |task| point.options.iter().position(|&option| option == task);
        let own = place(self.current);
        let runs_on = own == Some(0);
        match (self.turn.map(|turn| self.turns()[turn]), own) {
            (Some(turn), Some(own)) => {
                let is_over = self.steps_of(turn.task) >= turn.until;
                if !is_over || (!turn.exact && runs_on) {
                    return own;
                }
            }
            (None, Some(0)) => return 0,
            _ => {}
        }
        self.leave();
        let can_begin =
            |turn: &Turn, place: usize| place < point.free as usize || runs_on || turn.early;
        self.turn = self.find(|turn| place(turn.task).is_some_and(|place| can_begin(turn, place)));
        let task = self.turn.map(|turn| self.turns()[turn].task);
        task.and_then(place).unwrap_or(0)
    }

    /// Records the turns of the execution in `plan`. Leaves out the turns after the last decision
    /// that is not the default one.
    fn note_turns(&mut self, trace: &Trace) {
        self.steps.clear();
        self.switches = 0;
        let turns = &mut self.plan.turns;
        turns.clear();
        let mut needed = 0;
        let performed = trace.steps.iter();
        for step in performed.filter(|step| step.decision != TraceStep::NEVER) {
            let taken = match step.decision {
                TraceStep::NONE => Taken::Default,
                decision => self.taken[decision as usize],
            };
            let switches = turns.last().is_none_or(|turn| turn.task != step.task);
            self.switches += u64::from(switches);
            if switches || taken == Taken::Early {
                if let Some(last) = turns.last_mut() {
                    last.exact = taken == Taken::Preemption;
                }
                turns.push(Turn {
                    task: step.task,
                    until: 0,
                    exact: false,
                    early: taken == Taken::Early,
                });
            }
            if taken != Taken::Default {
                needed = turns.len();
            }
            let steps = at(&mut self.steps, step.task);
            *steps += 1;
            turns.last_mut().expect("a step is in a turn").until = *steps;
        }
        self.switches = self.switches.saturating_sub(1);
        turns.truncate(needed);
    }
}

/// The entry of `task`, initially 0.
fn at(counts: &mut EngineVec<u32>, task: TaskId) -> &mut u32 {
    let index = task.0 as usize;
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    &mut counts[index]
}

/// The strategy that follows a plan. Another owner of the same [`GuidedReplay`] reads the results.
pub struct GuidedReplayStrategy(pub Rc<RefCell<GuidedReplay>, EngineMemory>);

impl Strategy for GuidedReplayStrategy {
    fn name(&self) -> &'static str {
        "follow"
    }

    fn begin(&mut self) -> bool {
        self.retry();
        true
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let replay = &mut *self.0.borrow_mut();
        replay.read(point.past.trace);
        let choice = match &replay.source {
            Source::Plan(_) => replay.next_of_plan(point),
            Source::Schedule(schedule) => match schedule.get(point.index as usize) {
                Some(Decision::Task(task)) => {
                    let place = point.options.iter().position(|option| option == task);
                    place.unwrap_or(0)
                }
                _ => 0,
            },
        };
        replay.taken.push(match choice {
            0 => Taken::Default,
            _ if choice < point.free as usize => Taken::Free,
            _ if point.options[0] == replay.current => Taken::Preemption,
            _ => Taken::Early,
        });
        choice
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let replay = &mut *self.0.borrow_mut();
        replay.read(point.past.trace);
        let task = replay.current;
        let count = at(&mut replay.choices, task);
        let nth = *count;
        *count += 1;
        let wanted = match &replay.source {
            Source::Plan(plan) => {
                let mut draws = plan.draws.iter();
                let draw = draws.find(|draw| draw.task == task && draw.nth == nth);
                draw.map_or(0, |draw| draw.outcome)
            }
            Source::Schedule(schedule) => match schedule.get(point.index as usize) {
                Some(&Decision::Outcome(outcome)) => outcome,
                _ => 0,
            },
        };
        let outcome = if wanted < point.outcomes { wanted } else { 0 };
        if outcome != 0 {
            replay.plan.draws.push(Draw { task, nth, outcome });
        }
        replay.taken.push(Taken::Default);
        outcome
    }

    fn retry(&mut self) {
        self.0.borrow_mut().start();
    }

    fn end(&mut self, execution: &Ended<'_>) {
        self.0.borrow_mut().note_turns(execution.past.trace);
    }

    fn wants_trace(&self) -> bool {
        true
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }
}
