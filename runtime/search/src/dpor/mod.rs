//! `dpor`: a search that runs each happens-before graph once, without a bound on preemptions.
//!
//! Optimal dynamic partial-order reduction with source sets, sleep sets and wakeup trees (Abdulla,
//! Aronis, Jonsson and Sagonas, POPL'14). The races of an execution show which other orders of its
//! steps lead to other graphs. For each such order, a wakeup sequence is inserted at the step
//! where the new order first differs. The wakeup sequences are tried depth first. All outcomes of
//! operations are tried one after another.

mod labels;
mod race_reversal;
mod sleep_sets;
mod wakeup;

use self::labels::{Label, Labels, Outcomes};
use self::wakeup::{Branch, Sequence, size};
use super::races::{HappensBefore, Race};
use super::{ChoicePoint, Ended, Past, Progress, SchedulingPoint, Strategy};
use crate::base::codec::{codec, kept_between_executions};
use crate::base::memory::{EngineVec, engine_vec};
use crate::{Trace, TraceStep};
use chess_vocabulary::TaskId;

/// The largest number of steps in all wakeup sequences. A search that plans more steps gives up.
const MOST_PLANNED: usize = 1 << 25;
/// In executions with more steps than this, wakeup sequences are partial: they lack steps that
/// could come before their last step.
const LONG: usize = 1000;
/// The largest number of [labels](Label). A search that needs more labels gives up.
const MOST_LABELS: usize = 1 << 22;

/// An outcome of an operation within a step.
struct Outcome {
    taken: u32,
    /// The name of the taken outcome: see [`ChoicePoint::name`].
    name: u64,
    /// The number of outcomes that are left to try, the taken one included.
    count: u32,
    /// Whether every outcome but the first happens without a cause in the program.
    is_spurious: bool,
}

/// The wakeup sequences after a step, for one list of outcomes of its operations.
struct Continuation {
    outcomes: Outcomes,
    then: EngineVec<Branch>,
}

/// A step of the current execution.
struct Node {
    task: TaskId,
    /// The enabled tasks; empty if there was no choice.
    options: EngineVec<TaskId>,
    outcomes: EngineVec<Outcome>,
    /// The sleep set: steps that need not be taken here, because other schedules cover them.
    asleep: EngineVec<Label>,
    /// The wakeup sequences that are still to be tried here.
    branches: EngineVec<Branch>,
    /// The number of tasks that were tried here before.
    tried: u32,
    /// The wakeup sequences after the step, for each list of outcomes of its operations.
    continuations: EngineVec<Continuation>,
    /// The label of the step, with the touches of the step in all executions that took it. `None`
    /// if there was no choice.
    label: Option<Label>,
}

codec!(Outcome {
    taken,
    name,
    count,
    is_spurious,
});
codec!(Continuation { outcomes, then });
codec!(Node {
    task,
    options,
    outcomes,
    asleep,
    branches,
    tried,
    continuations,
    label,
});

impl Node {
    /// The outcomes of the operations of the step.
    fn outcomes(&self) -> Outcomes {
        Outcomes::of(self.outcomes.iter().map(|outcome| outcome.name))
    }

    /// Makes `task` take the step of this node. Removes the branches that begin with a step of
    /// `task`, and keeps their other steps as branches after this step. Returns the number of steps
    /// that are no longer planned.
    fn run(&mut self, task: TaskId, labels: &Labels) -> usize {
        let planned = size(&self.branches) + self.planned_after();
        self.task = task;
        self.continuations.clear();
        let mut at = 0;
        while at < self.branches.len() {
            let next = self.branches[at].next();
            if labels.task(next) != task {
                at += 1;
                continue;
            }
            let then = self.branches.remove(at).after_next();
            let outcomes = labels.outcomes(next);
            match self
                .continuations
                .iter_mut()
                .find(|it| it.outcomes == outcomes)
            {
                Some(it) => it.then.extend(then),
                None => self.continuations.push(Continuation { outcomes, then }),
            }
        }
        planned - size(&self.branches) - self.planned_after()
    }

    /// The number of steps that are planned after the step of this node.
    fn planned_after(&self) -> usize {
        self.continuations
            .iter()
            .map(|continuation| size(&continuation.then))
            .sum()
    }
}

/// The search.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub struct Dpor {
    labels: Labels,
    /// The steps of the current execution.
    nodes: EngineVec<Node>,
    /// The number of prescribed steps at the start of the current execution.
    prescribed: usize,
    /// The number of planned steps at all nodes.
    planned: usize,
    happens_before: HappensBefore,
    /// The races of the last execution.
    races: EngineVec<Race>,
    /// Whether the search has read an execution since it was created. If not, `races` is not
    /// valid, for example in a search that continues from a saved state.
    has_read: bool,
    /// The first step of each task in the current execution that the previous execution did not
    /// have.
    first_steps: EngineVec<u32>,
    /// The labels of the steps of the current trace, as far as they are known.
    steps: EngineVec<Option<Label>>,
    sequence: Sequence,
    /// See [`LONG`].
    long: usize,
    /// The number of spurious outcomes that the operations of the nodes have taken.
    spurious: u32,
    /// The number of outcomes of the step `outcomes_of` so far.
    outcomes: usize,
    /// The index of the last step that had an outcome, or [`usize::MAX`].
    outcomes_of: usize,
    /// The number of steps up to the last choice of a task or outcome, the step of this choice
    /// included.
    come_to: usize,
    /// The number of decisions at which all enabled tasks slept. An execution with such a decision
    /// repeats an explored graph. Optimal DPOR has none, if its wakeup sequences are complete.
    redundant: u64,
    /// The search met something that it cannot handle, and stopped.
    gave_up: bool,
    /// More than one spurious outcome was possible in an execution: not all schedules were tried.
    is_limited: bool,
    started: bool,
    finished: bool,
    diverged: bool,
}

impl Dpor {
    /// A search that has not begun.
    pub fn new() -> Self {
        Self {
            labels: Labels::new(),
            nodes: engine_vec(),
            prescribed: 0,
            planned: 0,
            happens_before: HappensBefore::new(false),
            races: engine_vec(),
            has_read: false,
            first_steps: engine_vec(),
            steps: engine_vec(),
            sequence: Sequence::new(),
            long: LONG,
            spurious: 0,
            outcomes: 0,
            outcomes_of: usize::MAX,
            come_to: 0,
            redundant: 0,
            gave_up: false,
            is_limited: false,
            started: false,
            finished: false,
            diverged: false,
        }
    }

    /// Whether the execution took its prescribed steps. If the behaviour of a program does not
    /// depend on the schedule alone, an execution may end earlier, or have other choices.
    fn is_as_prescribed(&self, trace: &Trace) -> bool {
        let prescribed = &self.nodes[..self.prescribed];
        let mut begun = trace.steps.iter().zip(prescribed);
        trace.steps.len() >= prescribed.len()
            && begun.all(|(step, node)| {
                let had_choice = step.decision != TraceStep::NONE;
                step.task == node.task
                    && step.decision != TraceStep::NEVER
                    && had_choice != node.options.is_empty()
            })
    }

    /// Adds nodes for the steps since the last node. At these steps there was no choice.
    fn catch_up(&mut self, past: Past<'_>) {
        let begun = past.trace.steps.get(self.nodes.len()..);
        for step in begun.unwrap_or_default() {
            if step.decision == TraceStep::NEVER {
                break;
            }
            let asleep = self.asleep(past);
            self.push(step.task, engine_vec(), asleep);
        }
    }

    /// Appends a node for a step of `task`.
    fn push(&mut self, task: TaskId, options: EngineVec<TaskId>, asleep: EngineVec<Label>) {
        let mut node = Node {
            task,
            options,
            outcomes: engine_vec(),
            asleep,
            branches: engine_vec(),
            tried: 0,
            continuations: engine_vec(),
            label: None,
        };
        if let Some(plan) = self.plan() {
            node.branches = core::mem::replace(plan, engine_vec());
            self.planned -= node.run(task, &self.labels);
        }
        self.nodes.push(node);
    }

    /// The wakeup sequences after the last node.
    fn plan(&mut self) -> Option<&mut EngineVec<Branch>> {
        let node = self.nodes.last_mut()?;
        let outcomes = node.outcomes();
        let continuation = node
            .continuations
            .iter_mut()
            .find(|it| it.outcomes == outcomes)?;
        Some(&mut continuation.then)
    }

    /// Removes nodes from the end until the last node has another choice to try, and makes this
    /// choice. Returns `false` if no node has one.
    fn backtrack(&mut self) -> bool {
        while let Some(node) = self.nodes.last_mut() {
            while let Some(outcome) = node.outcomes.last_mut() {
                if outcome.count > 1 {
                    self.spurious += u32::from(outcome.is_spurious && outcome.taken == 0);
                    outcome.count -= 1;
                    outcome.taken += 1;
                    return true;
                }
                self.spurious -= u32::from(outcome.is_spurious && outcome.taken > 0);
                node.outcomes.pop();
            }
            // A branch may have been added while an earlier operation had another outcome. With
            // the current outcome, the first step of the branch may not be enabled.
            let (options, labels) = (&node.options, &self.labels);
            self.planned -= size(&node.branches);
            node.branches
                .retain(|branch| options.contains(&labels.task(branch.next())));
            self.planned += size(&node.branches);
            if let Some(next) = node.branches.first() {
                let task = labels.task(next.next());
                node.asleep.extend(node.label.take());
                node.tried += 1;
                self.planned -= node.run(task, labels);
                return true;
            }
            self.planned -= node.planned_after();
            self.nodes.pop();
        }
        false
    }
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
        self.come_to = step + 1;
        let place = |task: TaskId| point.options.iter().position(|&option| option == task);
        if step < self.nodes.len() {
            let found = place(self.nodes[step].task);
            self.diverged |= found.is_none();
            return found.unwrap_or(0);
        }
        self.catch_up(point.past);
        let next = self.plan().and_then(|plan| plan.first()).map(Branch::next);
        let planned = next.map(|label| self.labels.task(label));
        let asleep = self.asleep(point.past);
        let rested = |&task: &TaskId| asleep.iter().all(|&label| self.labels.task(label) != task);
        let chosen = planned
            .and_then(place)
            .or_else(|| point.options.iter().position(rested));
        self.redundant += u64::from(chosen.is_none());
        let chosen = chosen.unwrap_or(0);
        let mut options = engine_vec();
        options.extend_from_slice(point.options);
        self.push(point.options[chosen], options, asleep);
        chosen
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.catch_up(point.past);
        let step = point.past.trace.steps.len() - 1;
        self.come_to = step + 1;
        if self.outcomes_of != step {
            self.outcomes_of = step;
            self.outcomes = 0;
        }
        let place = self.outcomes;
        self.outcomes += 1;
        let node = &mut self.nodes[step];
        if let Some(outcome) = node.outcomes.get_mut(place) {
            self.diverged |= outcome.taken >= point.outcomes;
            let taken = outcome.taken.min(point.outcomes - 1);
            outcome.name = point.name(taken);
            return taken;
        }
        // The number of spurious outcomes in a row has no limit, so one in each execution is
        // allowed.
        let is_spurious = matches!(point.kind, super::Outcomes::Spurious);
        let is_spent = is_spurious && self.spurious > 0;
        self.is_limited |= is_spent;
        let node = &mut self.nodes[step];
        node.outcomes.push(Outcome {
            taken: 0,
            name: point.name(0),
            count: if is_spent { 1 } else { point.outcomes },
            is_spurious,
        });
        0
    }

    fn retry(&mut self) {
        self.outcomes_of = usize::MAX;
        self.come_to = 0;
        self.diverged = false;
    }

    fn end(&mut self, execution: &Ended<'_>) {
        let trace = execution.past.trace;
        let is_unsupported = execution.is_cut
            || trace.is_irregular
            || trace.has_timers
            // A repetition of this execution, which checks that it is deterministic, ended earlier.
            || trace.steps.len() < self.nodes.len()
            || !self.is_as_prescribed(trace);
        if execution.diverged || is_unsupported {
            self.gave_up = true;
            return;
        }
        self.catch_up(execution.past);
        let mut known = self.prescribed.saturating_sub(1);
        if self.happens_before.note_attempts(trace) {
            known = 0;
        }
        self.note_labels(execution.past, known);
        self.reverse_races(execution.past, known);
        self.gave_up = self.planned > MOST_PLANNED || self.labels.count() > MOST_LABELS;
    }

    fn wants_trace(&self) -> bool {
        true
    }

    fn diverged(&self) -> bool {
        // The prescribed steps end with a choice.
        self.diverged || self.come_to < self.prescribed
    }

    /// The estimate assumes that all known choices of a step are equally large parts of the space.
    /// While further choices are found, the true part is smaller.
    fn explored(&self) -> Option<f64> {
        if self.finished {
            return Some(1.0);
        }
        let (mut explored, mut part) = (0.0, 1.0);
        for node in &self.nodes {
            let tasks = (node.tried, node.branches.len() as u32);
            let outcomes = node.outcomes.iter();
            let outcomes = outcomes.map(|outcome| (outcome.taken, outcome.count - 1));
            for (before, after) in core::iter::once(tasks).chain(outcomes) {
                part /= f64::from(before + 1 + after);
                explored += part * f64::from(before);
            }
        }
        Some(explored + part)
    }

    fn progress(&self) -> Progress {
        Progress {
            bound: None,
            bound_completed: None,
            pruned: 0,
            complete: self.finished && !self.gave_up && !self.is_limited,
            delays_completed: None,
        }
    }

    kept_between_executions!(
        labels, nodes, planned, spurious, redundant, gave_up, is_limited, started, finished,
    );
}

#[cfg(test)]
mod tests;
