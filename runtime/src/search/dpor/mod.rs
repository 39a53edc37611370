//! `dpor`: each happens-before graph once, without a bound.
//!
//! Optimal dynamic partial-order reduction with source sets, sleep sets and
//! wakeup trees (Abdulla, Aronis, Jonsson and Sagonas, POPL'14). An execution's
//! races say which other orders of its steps make a difference; the sequences
//! that lead there are kept at the points where they part, and tried depth
//! first. Outcomes of operations are all tried in turn.

mod wakeup;

use self::wakeup::{Branch, Label, Sequence, commute, insert};
use super::races::{HappensBefore, Race};
use super::stored::{kept_between_executions, stored};
use super::{ChoicePoint, Ended, Past, Progress, SchedulingPoint, Strategy};
use crate::execution::{Effect, TaskId, TraceStep};
use crate::platform::memory::{EngineVec, engine_vec};

/// An outcome of an operation within a step.
struct Outcome {
    taken: u32,
    /// How many there are to try, from the one taken on.
    count: u32,
    /// Whether it happens for no reason, unless it is the first one.
    costs: bool,
}

/// A step of the current execution.
struct Node {
    task: TaskId,
    /// Who could have been chosen; empty where there was no choice.
    options: EngineVec<TaskId>,
    outcomes: EngineVec<Outcome>,
    /// Steps that need not be taken here: what they lead to is explored.
    asleep: EngineVec<Label>,
    /// What is to be tried here besides.
    branches: EngineVec<Branch>,
    /// What the step touched, in all executions that took it.
    touches: EngineVec<(usize, Effect)>,
}

stored!(Outcome {
    taken,
    count,
    costs,
});
stored!(Node {
    task,
    options,
    outcomes,
    asleep,
    branches,
    touches,
});

/// The search.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Dpor {
    /// The steps of the current execution; those that are prescribed at its start.
    nodes: EngineVec<Node>,
    prescribed: usize,
    /// What comes after the last of the nodes.
    plan: EngineVec<Branch>,
    happens_before: HappensBefore,
    /// Outcomes of the running step so far, and which step that is.
    outcomes: usize,
    outcomes_of: usize,
    /// Executions that went where others had been: none, if all is as it should be.
    redundant: u64,
    /// Something happened that the search cannot reason about.
    gave_up: bool,
    /// More than one thing could have happened for no reason: not all was tried.
    is_limited: bool,
    started: bool,
    finished: bool,
    diverged: bool,
}

impl Dpor {
    pub(crate) fn new() -> Self {
        Self {
            nodes: engine_vec(),
            prescribed: 0,
            plan: engine_vec(),
            happens_before: HappensBefore::new(false),
            outcomes: 0,
            outcomes_of: usize::MAX,
            redundant: 0,
            gave_up: false,
            is_limited: false,
            started: false,
            finished: false,
            diverged: false,
        }
    }

    /// Takes up the steps that the execution has begun and that had no choice.
    fn catch_up(&mut self, past: Past<'_>) {
        let steps = &past.trace.steps;
        let speaks = |step: &&TraceStep| step.decision != TraceStep::NEVER;
        let known = self.nodes.len();
        for step in steps.iter().take_while(speaks).skip(known) {
            self.push(past, step.task, engine_vec());
        }
    }

    /// A new step of `task`, after all that were before it.
    fn push(&mut self, past: Past<'_>, task: TaskId, options: EngineVec<TaskId>) {
        let asleep = self.asleep(past);
        let mut plan = core::mem::replace(&mut self.plan, engine_vec());
        let mut branches = engine_vec();
        if plan.first().is_some_and(|branch| branch.label.task == task) {
            let first = plan.remove(0);
            self.plan = first.then;
            branches = plan;
        }
        self.nodes.push(Node {
            task,
            options,
            outcomes: engine_vec(),
            asleep,
            branches,
            touches: engine_vec(),
        });
    }

    /// What sleeps after the last of the nodes: what slept there and commutes with it.
    fn asleep(&self, past: Past<'_>) -> EngineVec<Label> {
        let mut asleep = engine_vec();
        if let Some(node) = self.nodes.last() {
            let touches = touches_of(past, self.nodes.len() - 1);
            let stays =
                |label: &&Label| label.task != node.task && commute(&label.touches, &touches);
            asleep.extend(node.asleep.iter().filter(stays).cloned());
        }
        asleep
    }

    /// Goes back to the last step from which something is left to try.
    fn backtrack(&mut self) -> bool {
        self.plan.clear();
        while let Some(node) = self.nodes.last_mut() {
            while let Some(outcome) = node.outcomes.last_mut() {
                if outcome.count > 1 {
                    outcome.count -= 1;
                    outcome.taken += 1;
                    return true;
                }
                node.outcomes.pop();
            }
            // A branch that another outcome of an earlier operation led to may not
            // be possible after this one.
            let options = &node.options;
            node.branches
                .retain(|branch| options.contains(&branch.label.task));
            if !node.branches.is_empty() {
                let touches = core::mem::replace(&mut node.touches, engine_vec());
                node.asleep.push(Label {
                    task: node.task,
                    touches,
                });
                let next = node.branches.remove(0);
                node.task = next.label.task;
                self.plan = next.then;
                return true;
            }
            self.nodes.pop();
        }
        false
    }

    /// Adds, for each race of the execution, what would turn it round.
    fn turn_races(&mut self, past: Past<'_>) {
        self.happens_before.read(past.trace);
        for at in 0..self.happens_before.races.len() {
            let race = self.happens_before.races[at];
            if self.nodes[race.first as usize].options.is_empty() {
                continue;
            }
            let sequence = self.turned(past, race);
            let node = &mut self.nodes[race.first as usize];
            let happens_before = &self.happens_before;
            let precedes = |earlier, later| happens_before.precedes(past.trace, earlier, later);
            let mut asleep = node.asleep.iter();
            if !asleep.any(|label| sequence.can_begin_with(label, precedes)) {
                insert(&mut node.branches, sequence, precedes);
            }
        }
    }

    /// All steps since the race's first one that did not happen after it, and then
    /// the second one.
    fn turned(&self, past: Past<'_>, race: Race) -> Sequence {
        let mut sequence = Sequence {
            labels: engine_vec(),
            steps: engine_vec(),
        };
        let trace = past.trace;
        let after = race.first as usize + 1..self.nodes.len();
        let free = after.filter(|&step| {
            let precedes = self.happens_before.precedes(trace, race.first, step as u32);
            !precedes && step != race.second as usize
        });
        for step in free.chain([race.second as usize]) {
            sequence.steps.push(step as u32);
            sequence.labels.push(Label {
                task: trace.steps[step].task,
                touches: touches_of(past, step),
            });
        }
        sequence
    }
}

/// What a step of the execution touched.
fn touches_of(past: Past<'_>, step: usize) -> EngineVec<(usize, Effect)> {
    let mut touches = engine_vec();
    let named = past.trace.touches_of(step).iter();
    touches.extend(named.map(|touch| ((past.name)(touch.object), touch.effect)));
    touches
}

impl Strategy for Dpor {
    fn name(&self) -> &'static str {
        "dpor"
    }

    fn begin(&mut self) -> bool {
        if self.gave_up || self.finished {
            return false;
        }
        if core::mem::replace(&mut self.started, true) && !self.backtrack() {
            self.finished = true;
            return false;
        }
        self.prescribed = self.nodes.len();
        self.retry();
        true
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let step = point.step as usize;
        let place = |task: TaskId| point.options.iter().position(|&option| option == task);
        if step < self.nodes.len() {
            let found = place(self.nodes[step].task);
            self.diverged |= found.is_none();
            return found.unwrap_or(0);
        }
        self.catch_up(point.past);
        let planned = self.plan.first().map(|branch| branch.label.task);
        let asleep = self.asleep(point.past);
        let rested = |task: &TaskId| asleep.iter().all(|label| label.task != *task);
        let chosen = planned
            .and_then(place)
            .or_else(|| point.options.iter().position(rested));
        self.redundant += u64::from(chosen.is_none());
        let chosen = chosen.unwrap_or(0);
        let mut options = engine_vec();
        options.extend_from_slice(point.options);
        self.push(point.past, point.options[chosen], options);
        chosen
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.catch_up(point.past);
        let step = point.past.trace.steps.len() - 1;
        if self.outcomes_of != step {
            self.outcomes_of = step;
            self.outcomes = 0;
        }
        let place = self.outcomes;
        self.outcomes += 1;
        let node = &mut self.nodes[step];
        if let Some(outcome) = node.outcomes.get(place) {
            self.diverged |= outcome.taken >= point.outcomes;
            return outcome.taken.min(point.outcomes - 1);
        }
        // What happens for no reason could happen for ever.
        let mut before = self.nodes.iter().flat_map(|node| &node.outcomes);
        let is_spent = point.costs && before.any(|outcome| outcome.costs && outcome.taken > 0);
        self.is_limited |= is_spent;
        let node = &mut self.nodes[step];
        node.outcomes.push(Outcome {
            taken: 0,
            count: if is_spent { 1 } else { point.outcomes },
            costs: point.costs,
        });
        0
    }

    fn retry(&mut self) {
        self.outcomes_of = usize::MAX;
        self.diverged = false;
    }

    fn end(&mut self, execution: &Ended<'_>) {
        if execution.diverged || execution.is_cut || execution.past.trace.is_irregular {
            self.gave_up = true;
            return;
        }
        self.catch_up(execution.past);
        let from = self.prescribed.saturating_sub(1);
        for step in from..self.nodes.len() {
            for touch in touches_of(execution.past, step) {
                let touches = &mut self.nodes[step].touches;
                if !touches.contains(&touch) {
                    touches.push(touch);
                }
            }
        }
        self.turn_races(execution.past);
    }

    fn wants_trace(&self) -> bool {
        true
    }

    fn diverged(&self) -> bool {
        self.diverged
    }

    fn progress(&self) -> Progress {
        Progress {
            bound: None,
            bound_completed: None,
            pruned: 0,
            complete: self.finished && !self.gave_up && !self.is_limited,
        }
    }

    kept_between_executions!(nodes, redundant, gave_up, is_limited, started, finished);
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Act, Program};
    use super::*;

    /// How many executions the search takes; each is a graph of its own.
    fn count(program: &Program) -> u64 {
        let mut search = Dpor::new();
        let explored = model::explore(program, &mut search);
        assert!(search.progress().complete);
        assert_eq!(search.redundant, 0);
        assert_eq!(explored.graphs.len() as u64, explored.executions);
        explored.executions
    }

    fn locked(tasks: usize, times: usize) -> Program {
        let section = [Act::Lock(0), Act::Add(0), Act::Unlock(0)];
        vec![section.repeat(times); tasks]
    }

    #[test]
    fn takes_as_many_executions_as_there_are_graphs() {
        assert_eq!(count(&locked(2, 3)), 20);
        assert_eq!(count(&locked(3, 1)), 6);
        assert_eq!(count(&locked(3, 2)), 90);
        assert_eq!(count(&vec![vec![Act::Add(0); 5]; 2]), 252);
        let apart = (0..3).map(|own| vec![Act::Add(own); 2]);
        assert_eq!(count(&apart.collect()), 1);
        assert_eq!(count(&vec![vec![Act::Read(0), Act::EndRead(0)]; 3]), 1);
    }

    #[test]
    fn takes_as_many_executions_as_litmus_tests_have() {
        let store_buffering = vec![
            vec![Act::Store(0, 1), Act::Load(1)],
            vec![Act::Store(1, 1), Act::Load(0)],
        ];
        assert_eq!(count(&store_buffering), 3);
        let message_passing = vec![
            vec![Act::Store(0, 1), Act::Store(1, 1)],
            vec![Act::Load(1), Act::Load(0)],
        ];
        assert_eq!(count(&message_passing), 3);
        let independent_reads = vec![
            vec![Act::Store(0, 1)],
            vec![Act::Store(1, 1)],
            vec![Act::Load(0), Act::Load(1)],
            vec![Act::Load(1), Act::Load(0)],
        ];
        assert_eq!(count(&independent_reads), 15);
    }

    /// Whether a program's graphs show all that its tasks do: neither outcomes of
    /// operations, nor that a task waits.
    fn shows_all(program: &Program) -> bool {
        use Act::{Choose, NotifyOne, Park, Recv};
        let hidden = |act: &Act| matches!(act, Recv(_) | Park | Choose(_) | NotifyOne(_));
        !program.iter().flatten().any(hidden)
    }

    #[test]
    fn every_graph_and_every_end_is_reached() {
        let (mut executions, mut graphs) = (0, 0);
        for seed in model::seeds() {
            let program = model::random_program(seed);
            let Some(all) = model::explore_all(&program, u32::MAX, 2_000) else {
                continue;
            };
            let mut search = Dpor::new();
            let reduced = model::explore(&program, &mut search);
            assert_eq!(all.graphs, reduced.graphs, "seed {seed}: {program:?}");
            assert_eq!(all.ends, reduced.ends, "seed {seed}: {program:?}");
            if shows_all(&program) {
                assert_eq!(search.redundant, 0, "seed {seed}: {program:?}");
                executions += reduced.executions;
                graphs += reduced.graphs.len() as u64;
            }
        }
        // Locks within locks lead to a few graphs twice.
        let more = executions - graphs;
        assert!(more * 200 < graphs, "{more} more than the {graphs} graphs");
    }
}
