//! Counters of an exploration.

use super::covered::Growth;
use super::phase::{Phase, Reach};
use super::warnings::{self, intended, warnings};
use super::{Exploration, Milestone};
use crate::base::source_path::Place;
use crate::execution::Execution;
use crate::harness::engine::Engine;
use crate::memory::Stale;
use crate::monitor::Spin;

impl Reach {
    /// The reach of the running search.
    pub(crate) fn of(exploration: &Exploration) -> Self {
        let complete = exploration.progress.complete
            && !exploration.unstable
            && exploration.cut_short.is_none();
        let share = exploration.share.as_ref();
        Self {
            complete,
            complete_of_all: complete && share.is_none_or(|share| !share.is_exhausted),
            bound_completed: bound_completed(exploration),
            bound_of_all: bound_of_all(exploration),
            delays_completed: exploration
                .progress
                .delays_completed
                .filter(|_| !exploration.unstable && exploration.diverged == 0)
                .filter(|_| exploration.cut_short.is_none()),
        }
    }
}

/// The reach of the whole exploration, and the reach of the schedules in which time passes only
/// when no task can run. The second one is `None` if the two do not differ.
fn reaches(engine: &Engine) -> (Reach, Option<Reach>) {
    let (exploration, phases) = (&engine.exploration, &engine.exploration.phases);
    let now = Reach::of(exploration);
    match phases.phase {
        Phase::Last if engine.execution.could_be_early => (Reach::NONE, Some(now)),
        Phase::Only | Phase::Last => (now, None),
        Phase::Early => (now, phases.last),
    }
}

/// A copy of the exploration's counters. The repetition of an execution that crashed replaces the
/// engine, and so the original counters.
pub(super) struct Counters {
    pub(super) schedules: u64,
    pub(super) work: u64,
    pub(super) executions: u64,
    pub(super) distinct: u64,
    /// The number of distinct observed states.
    pub(super) states: u64,
    /// The growth of the numbers of graphs and states.
    pub(super) growth: Vec<Growth>,
    pub(super) steps: u64,
    pub(super) max_steps: u64,
    pub(super) threads: usize,
    pub(super) reach: Reach,
    /// The reach of the schedules in which time passes only when no task can run; `None` if
    /// `reach` is the same.
    pub(super) reach_last: Option<Reach>,
    pub(super) milestones: Vec<Milestone>,
    pub(super) unstable: bool,
    pub(super) strategy: &'static str,
    /// The warnings, as JSON.
    pub(super) warnings: Vec<String>,
    /// The loops that wait without yielding and are reported as warnings.
    pub(super) spins: Vec<Spin>,
    /// Operations that could have late effects under a weaker memory model.
    pub(super) stale_loads: Vec<Stale>,
    /// The number of schedules in which an assumption of the test did not hold.
    pub(super) unmet: u64,
    /// The place of the first assumption that did not hold.
    pub(super) first_unmet: Option<Place>,
}

impl Counters {
    pub(super) fn read(engine: &Engine) -> Self {
        let exploration = &engine.exploration;
        let (reach, reach_last) = reaches(engine);
        Self {
            schedules: exploration.schedules,
            work: exploration.work,
            executions: exploration.executions,
            distinct: exploration.distinct.count(),
            states: exploration.covered.states.count(),
            growth: exploration
                .covered
                .growth_up_to(exploration.schedules, exploration.distinct.count())
                .collect(),
            steps: exploration.steps,
            max_steps: exploration.max_steps,
            threads: exploration.threads,
            reach,
            reach_last,
            milestones: exploration.milestones.to_vec(),
            unstable: exploration.unstable || exploration.diverged > 0,
            strategy: exploration.strategy,
            warnings: intended(&engine.monitors.outcome.intended)
                .chain(warnings(exploration))
                .collect(),
            spins: engine.monitors.spins.by_line(),
            stale_loads: engine.monitors.races.memory.stale.found.to_vec(),
            unmet: exploration.unmet,
            first_unmet: exploration.first_unmet.clone(),
        }
    }

    /// Counts the execution that killed the explorer.
    pub(super) fn with_crash(mut self, execution: &Execution) -> Self {
        self.schedules += 1;
        self.executions += 1;
        self.steps += execution.budget.steps;
        self.max_steps = self.max_steps.max(execution.budget.steps);
        self.threads = self.threads.max(execution.schedule.live);
        self
    }

    /// Adds the warning that the search ended early. `reason` is the reason in words; `None` if a
    /// schedule crashed the process.
    pub(super) fn ended_early(&mut self, reason: Option<&str>) {
        self.warnings.push(warnings::ended_early(reason));
    }

    /// Counts the executions that confirmed a failure.
    pub(super) fn add_executions(&mut self, count: u64) {
        self.executions += count;
    }
}

/// The largest preemption bound that is known to be finished in the whole space: in all of its
/// parts, if the space is divided.
pub(super) fn bound_of_all(exploration: &Exploration) -> Option<u32> {
    let finished = bound_completed(exploration);
    let share = exploration.share.as_ref();
    share.map_or(finished, |share| finished.min(share.bound_completed))
}

/// The largest preemption bound that this search has finished. A bound is not finished if a limit
/// cut one of its executions short. `None` if two runs of one schedule differed.
fn bound_completed(exploration: &Exploration) -> Option<u32> {
    if exploration.unstable || exploration.diverged > 0 {
        return None;
    }
    let finished = exploration.progress.bound_completed;
    exploration
        .cut_short
        .map_or(finished, |bound| finished.min(bound.checked_sub(1)))
}
