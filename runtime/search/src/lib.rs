//! Search strategies: the choice of the next task at each scheduling point, and the end of a
//! search.
//!
//! Tasks and objects are only numbers here. The runtime drives a search through [`Strategy`]. The
//! state of a search is in the engine's memory (`base`), which the runtime maps.

#![feature(allocator_api, sanitize)]
// Generic functions of this crate are compiled with the runtime and with the user's crates. They must
// not be instrumented there.
#![sanitize(thread = "off")]
#![allow(
    stable_features,
    reason = "what is stable with the newest compiler is not with the two before it"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "numbers of tasks, steps and schedules, on 64-bit machines only"
)]
#![allow(
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    clippy::should_implement_trait,
    reason = "the runtime is the only user of these functions"
)]

mod auto;
pub mod base;
mod chunked_vec;
mod codec;
mod delay;
mod dpor;
mod estimate;
mod guided_replay;
mod hash_set;
mod icb;
mod minimise_edits;
mod new_state_rate;
mod orders;
mod pct;
mod portfolio;
mod pos;
mod races;
mod random;
mod replay;
mod sampler;
mod surw;
mod surw_profile;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trace;

pub use auto::Auto;
pub use delay::Delay;
pub use dpor::Dpor;
pub use estimate::{Draw, Estimate};
pub use guided_replay::{GuidedReplay, GuidedReplayStrategy, Source};
pub use hash_set::{HashSet, prefetch};
pub use icb::{BacktrackPoint, Deviation, Icb, Listed, Part, Share};
pub use minimise_edits::{Answer, Cost, Failing, Measure, minimise};
pub use orders::{Labelled, Orders, PairOrders};
pub use pct::Pct;
pub use portfolio::Portfolio;
pub use pos::Pos;
pub use races::HappensBefore;
pub use random::Random;
pub use replay::{Replay, Taken};
pub use surw::Surw;
pub use trace::{ObjectId, Touch, Trace, TraceStep};

pub use chess_vocabulary::Decision;
use chess_vocabulary::Decisions;

use crate::base::checkpoint::Checkpoint;
use crate::base::memory::EngineVec;
use chess_vocabulary::{Op, TaskId};

/// A point with more than one task to choose from.
pub struct SchedulingPoint<'a> {
    /// The number of earlier decisions in this execution.
    pub index: u32,
    /// The enabled tasks that fairness allows, and the current task if it may overstay, at least
    /// two. The first one is the task that an execution without preemptions runs next.
    pub options: &'a [TaskId],
    /// The first `free` options cost nothing. Each other option costs a preemption: the current
    /// task is enabled and did not yield, it overstays, or a timeout fires although a task could
    /// run.
    pub free: u32,
    /// The last option is the current task. It yields, and has starved others. If it is chosen, it
    /// overstays: it continues although a fair scheduler would let the others run first.
    pub may_overstay: bool,
    /// The hash of the execution so far. It shows whether an execution repeats the prefix of an
    /// earlier one.
    pub prefix: u64,
    /// The number of steps that the execution has taken, including those without a choice.
    pub step: u32,
    /// The number of events that the execution has had so far.
    pub event: u32,
    /// Returns the next operation of a task.
    pub pending: &'a dyn Fn(TaskId) -> Pending,
    /// The execution so far, if the strategy [reads](Strategy::wants_trace) it.
    pub past: Past<'a>,
}

/// The steps of an execution so far.
#[derive(Clone, Copy)]
pub struct Past<'a> {
    /// The steps and their accesses.
    pub trace: &'a Trace,
    /// Returns the name of an object of the trace: its address. The address is the same in all
    /// executions.
    pub name: &'a dyn Fn(ObjectId) -> usize,
}

/// The next operation of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The operation.
    pub op: Op,
    /// The address of the object, which is the same in all executions. 0 if the operation has no
    /// object.
    pub object: usize,
}

/// A point at which an operation has more than one outcome.
pub struct ChoicePoint<'a> {
    /// The number of earlier decisions in this execution.
    pub index: u32,
    /// The number of outcomes, at least two. Outcome 0 is the ordinary one.
    pub outcomes: u32,
    /// The kind of the outcomes.
    pub kind: Outcomes<'a>,
    /// As [`SchedulingPoint::event`].
    pub event: u32,
    /// As [`SchedulingPoint::prefix`].
    pub prefix: u64,
    /// As [`SchedulingPoint::past`].
    pub past: Past<'a>,
}

/// The kind of the outcomes of an operation.
#[derive(Clone, Copy)]
pub enum Outcomes<'a> {
    /// The program leaves the outcome open, for example the task that a notification wakes. No
    /// outcome costs anything.
    Free,
    /// As [`Outcomes::Free`], but the outcome is a number that the test uses. Smaller numbers are
    /// preferred.
    Data,
    /// Every outcome but 0 happens without a cause in the program, and costs as much as a
    /// preemption.
    Spurious,
    /// Every outcome but 0 is a rare event of the test, and costs as much as a preemption.
    Rare,
    /// The stores that an atomic operation may meet. Every outcome but 0 is a late effect, and
    /// costs as much as a preemption. The function returns the name of the store of an outcome.
    /// This name is the same in all executions that have the same events before the operation.
    Late(&'a dyn Fn(u32) -> u64),
}

impl ChoicePoint<'_> {
    /// Whether every outcome but 0 costs as much as a preemption.
    pub fn costs(&self) -> bool {
        !matches!(self.kind, Outcomes::Free | Outcomes::Data)
    }

    /// A number that identifies an outcome in all executions that have the same events before the
    /// operation.
    pub fn name(&self, outcome: u32) -> u64 {
        match self.kind {
            Outcomes::Late(name) => name(outcome),
            _ => outcome.into(),
        }
    }
}

/// The end of an execution, from which a strategy learns.
pub struct Ended<'a> {
    /// The whole execution.
    pub past: Past<'a>,
    /// No earlier execution had the happens-before graph of this one.
    pub is_new: bool,
    /// The execution ran past the step limit, so that its trace is incomplete.
    pub is_cut: bool,
    /// A prescribed decision was not possible. A strategy must not learn from this execution.
    pub diverged: bool,
}

/// The place at which a schedule no longer fits the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The index of the decision in the schedule.
    pub index: u32,
    /// The decision that was not possible.
    pub expected: Decision,
}

/// The progress of a strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The preemption bound that is being explored, if the strategy has one.
    pub bound: Option<u32>,
    /// The largest preemption bound that was finished.
    pub bound_completed: Option<u32>,
    /// The largest number of delays with which every schedule was run.
    pub delays_completed: Option<u32>,
    /// The number of schedules that a reduction proved redundant.
    pub pruned: u64,
    /// Every schedule was explored.
    pub complete: bool,
}

impl Progress {
    /// The progress of a search that has not begun.
    pub const NONE: Self = Self {
        bound: None,
        bound_completed: None,
        delays_completed: None,
        pruned: 0,
        complete: false,
    };

    /// These results after those of an `earlier` strategy. Each completed bound, and the number of
    /// pruned schedules, is the larger one of the two.
    pub fn after(self, earlier: Self) -> Self {
        Self {
            bound_completed: self.bound_completed.max(earlier.bound_completed),
            delays_completed: self.delays_completed.max(earlier.delays_completed),
            pruned: self.pruned.max(earlier.pruned),
            ..self
        }
    }
}

/// A search over schedules. It is independent of fibers and shims.
pub trait Strategy {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Prepares the next execution. Returns whether there is one.
    fn begin(&mut self) -> bool;

    /// Chooses the task to run, as an index into the options of the point.
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize;

    /// Chooses the outcome of an operation.
    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// Restarts the current execution, for example because it left its prescribed prefix.
    fn retry(&mut self) {}

    /// Learns from an execution that has ended.
    fn end(&mut self, execution: &Ended<'_>);

    /// Learns whether one of the states that the execution observed is new. Not called if the
    /// execution observed no state.
    fn observe(&mut self, _is_new: bool) {}

    /// Charges the budget of the search with the cost of one schedule. A helper process may have
    /// run this schedule.
    fn spent(&mut self, _cost: u64) {}

    /// Whether the search reads traces, which take time to record.
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

    /// The estimated number of schedules, if the search has an estimate.
    fn estimate(&self) -> Option<&Estimate> {
        None
    }

    /// The part of the schedules that was explored, from 0 to 1, if the search has an estimate.
    fn explored(&self) -> Option<f64> {
        self.estimate().map(Estimate::sampled)
    }

    /// The results of the search's part of the space, if the search explores only a part.
    fn share(&self) -> Option<Share> {
        None
    }

    /// The search as `icb`, whose rounds several processes can share. `None` for all other
    /// strategies.
    fn as_icb(&mut self) -> Option<&mut Icb> {
        None
    }

    /// The progress of the search.
    fn progress(&self) -> Progress;

    /// Appends to the output the state from which a new search can continue. Called after an
    /// execution. Returns `false` if the strategy cannot save its state.
    fn save(&self, _out: &mut Checkpoint) -> bool {
        false
    }

    /// Makes a new search continue from the saved state at the beginning of `input`, and removes
    /// this state from `input`. Returns `false` if the state is invalid. Then the search must not
    /// be used.
    fn load(&mut self, _input: &mut &[u8]) -> bool {
        false
    }
}

/// Parses the text form of a schedule: `0*12 1*3 ?1 0`.
///
/// # Errors
/// Returns the first token that is invalid.
pub fn parse_schedule(text: &str) -> Result<EngineVec<Decision>, &str> {
    let mut schedule = crate::base::memory::engine_vec();
    for token in text.split_whitespace() {
        let Decisions { decision, times } = Decisions::of_token(token).ok_or(token)?;
        let times = usize::try_from(times).map_err(|_| token)?;
        schedule.extend(core::iter::repeat_n(decision, times));
    }
    Ok(schedule)
}

/// The text form of a schedule.
pub fn format_schedule(schedule: &[Decision]) -> String {
    use core::fmt::Write;
    let mut text = String::new();
    let mut rest = schedule;
    while let Some(&first) = rest.first() {
        let separator = if text.is_empty() { "" } else { " " };
        // Equal outcomes in a row belong to different operations, so each one has its own token.
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
mod nondeterminism_tests;
#[cfg(test)]
mod resume_tests;

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
