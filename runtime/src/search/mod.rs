//! The search: which task runs next at each scheduling point, and when every schedule has been seen.

mod auto;
mod chunks;
mod delay;
mod dpor;
mod estimate;
mod follow;
mod hash_set;
mod icb;
mod minimise;
#[cfg(test)]
mod model;
mod pct;
mod portfolio;
mod pos;
mod profile;
mod races;
mod random;
mod replay;
mod sampler;
mod stored;
mod surw;

pub(crate) use auto::Auto;
pub(crate) use delay::Delay;
pub(crate) use dpor::Dpor;
pub(crate) use estimate::{Draw, Estimate};
pub(crate) use follow::{Follow, Following, Source};
pub(crate) use hash_set::{HashSet, prefetch};
pub(crate) use icb::{Deviation, Icb, Listed, Need, Part, Share};
pub(crate) use minimise::{Answer, Failing, Measure, minimise};
pub(crate) use pct::Pct;
pub(crate) use portfolio::Portfolio;
pub(crate) use pos::Pos;
pub(crate) use random::Random;
pub(crate) use replay::{Replay, Taken};
pub(crate) use surw::Surw;

pub(crate) use chess_vocabulary::Decision;
use chess_vocabulary::Decisions;

use crate::base::memory::EngineVec;
use crate::base::written::Written;
use crate::execution::{ObjectId, Op, TaskId, Trace};

/// What a strategy sees where more than one task can run.
pub(crate) struct SchedulingPoint<'a> {
    /// How many decisions came before in this execution.
    pub(crate) index: u32,
    /// The enabled tasks that fairness allows, at least two. First the one that
    /// an execution without preemptions runs next.
    pub(crate) options: &'a [TaskId],
    /// So many of the first options cost nothing. Each of the others costs a
    /// preemption: the current task could go on and did not yield, or a timeout
    /// fires although a task could run.
    pub(crate) free: u32,
    /// Hash of all that led here, to see that a prefix repeats.
    pub(crate) prefix: u64,
    /// How many steps the execution has taken, those without a choice included.
    pub(crate) step: u32,
    /// How many events the execution has.
    pub(crate) event: u32,
    /// What the task that is asked for does next.
    pub(crate) pending: &'a dyn Fn(TaskId) -> Pending,
    /// What was done so far, if the strategy [wants](Strategy::wants_trace) it.
    pub(crate) past: Past<'a>,
}

/// What an execution did so far.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    pub(crate) trace: &'a Trace,
    /// Names an object of the trace, in all executions alike: its address.
    pub(crate) name: &'a dyn Fn(ObjectId) -> usize,
}

/// The operation that a task performs when it runs next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    pub(crate) op: Op,
    /// Names the object, in all executions alike: its address; 0 for none.
    pub(crate) object: usize,
}

/// What a strategy sees where an operation has more than one outcome.
pub(crate) struct ChoicePoint<'a> {
    /// How many decisions came before in this execution.
    pub(crate) index: u32,
    /// How many outcomes there are, at least two; 0 is the ordinary one.
    pub(crate) outcomes: u32,
    /// Whether every outcome but 0 costs as a preemption does.
    pub(crate) costs: bool,
    /// As in [`SchedulingPoint`].
    pub(crate) event: u32,
    /// As in [`SchedulingPoint`].
    pub(crate) prefix: u64,
    /// As in [`SchedulingPoint`].
    pub(crate) past: Past<'a>,
}

/// An execution that ended, as a strategy learns from it.
pub(crate) struct Ended<'a> {
    pub(crate) past: Past<'a>,
    /// No execution before it had its happens-before graph.
    pub(crate) is_new: bool,
    /// It ran past the step limit: its trace is not whole.
    pub(crate) is_cut: bool,
    /// A decision could not be repeated: nothing is to be learnt from it.
    pub(crate) diverged: bool,
}

/// Where a schedule no longer fits the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Divergence {
    /// The decision's place in the schedule.
    pub(crate) index: u32,
    /// The decision that could not be taken.
    pub(crate) expected: Decision,
}

/// How far a strategy has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// The preemption bound being explored, where the strategy has one.
    pub(crate) bound: Option<u32>,
    /// The largest preemption bound that was finished.
    pub(crate) bound_completed: Option<u32>,
    /// Schedules that a reduction proved redundant.
    pub(crate) pruned: u64,
    /// Every schedule was explored.
    pub(crate) complete: bool,
}

impl Progress {
    /// That of a search that has not begun.
    pub(crate) const NONE: Self = Self {
        bound: None,
        bound_completed: None,
        pruned: 0,
        complete: false,
    };

    /// Keeps what an `earlier` strategy, or this one, finished.
    pub(crate) fn after(self, earlier: Self) -> Self {
        Self {
            bound_completed: self.bound_completed.max(earlier.bound_completed),
            pruned: self.pruned.max(earlier.pruned),
            ..self
        }
    }
}

/// A search over schedules. It knows nothing of fibers or shims.
pub(crate) trait Strategy {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Prepares the next execution; whether there is one.
    fn begin(&mut self) -> bool;

    /// The task to run, as an index into the point's options.
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize;

    /// The outcome of an operation.
    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// Runs the current execution once more: it left its prescribed prefix.
    fn retry(&mut self) {}

    /// The execution ended.
    fn end(&mut self, execution: &Ended<'_>);

    /// A schedule was run, perhaps by a helper, and cost this much of the search's budget.
    fn spent(&mut self, _cost: u64) {}

    /// Whether the search reads traces: these take time.
    fn wants_trace(&self) -> bool {
        false
    }

    /// Whether this execution has left its prescribed prefix.
    fn diverged(&self) -> bool {
        false
    }

    /// The first decision that a replay could not take.
    fn divergence(&self) -> Option<Divergence> {
        None
    }

    /// The decisions of this execution, if it is a replay.
    fn taken(&self) -> &[Taken] {
        &[]
    }

    /// How many schedules there are, if the search can tell.
    fn estimate(&self) -> Option<&Estimate> {
        None
    }

    /// Which part of the schedules was explored, from 0 to 1, if the search can tell.
    fn explored(&self) -> Option<f64> {
        self.estimate().map(Estimate::sampled)
    }

    /// What was explored, where that is but a part of the space.
    fn share(&self) -> Option<Share> {
        None
    }

    /// The search whose rounds several processes can share, if it is that one.
    fn as_icb(&mut self) -> Option<&mut Icb> {
        None
    }

    /// How far the search has come.
    fn progress(&self) -> Progress;

    /// Appends, after an execution, all that a search needs to go on; whether this
    /// strategy can.
    fn save(&self, _out: &mut Written) -> bool {
        false
    }

    /// Makes a new search go on from what was saved, which it takes from `input`. If it
    /// is not understood, the search is of no further use.
    fn load(&mut self, _input: &mut &[u8]) -> bool {
        false
    }
}

/// Takes apart the text form of a schedule: `0*12 1*3 ?1 0`.
///
/// # Errors
/// The token that is not understood.
pub(crate) fn parse_schedule(text: &str) -> Result<EngineVec<Decision>, &str> {
    let mut schedule = crate::base::memory::engine_vec();
    for token in text.split_whitespace() {
        let Decisions { decision, times } = Decisions::of_token(token).ok_or(token)?;
        let times = usize::try_from(times).map_err(|_| token)?;
        schedule.extend(core::iter::repeat_n(decision, times));
    }
    Ok(schedule)
}

/// The text form of a schedule.
pub(crate) fn format_schedule(schedule: &[Decision]) -> String {
    use core::fmt::Write;
    let mut text = String::new();
    let mut rest = schedule;
    while let Some(&first) = rest.first() {
        let separator = if text.is_empty() { "" } else { " " };
        // Each outcome is of an operation of its own, and has a token of its own.
        let times = match first {
            Decision::Outcome(_) => 1,
            Decision::Task(_) => rest.iter().take_while(|&&it| it == first).count(),
        };
        let token = Decisions {
            decision: first,
            times: times as u64,
        };
        write!(text, "{separator}{token}").expect("writing to a string succeeds");
        rest = &rest[times..];
    }
    text
}

#[cfg(test)]
mod resume_tests;
#[cfg(test)]
mod unsteady;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_survives_its_text_form() {
        let text = "0*12 1*3 ?1 0 ?0 ?0 2";
        let schedule = parse_schedule(text).unwrap();
        assert_eq!(schedule.len(), 12 + 3 + 1 + 1 + 2 + 1);
        assert_eq!(format_schedule(&schedule), text);
    }

    #[test]
    fn a_broken_schedule_names_its_token() {
        assert_eq!(parse_schedule("0*2 1*x 3").unwrap_err(), "1*x");
        assert_eq!(parse_schedule("0 ?").unwrap_err(), "?");
    }
}
