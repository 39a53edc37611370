//! Livelocks and spins: whether an execution that does not end is a failure.
//!
//! This file has only the verdict. `execution/step_limit.rs` orders the tasks after the step
//! limit, and ends the execution. `execution/fairness.rs` holds back tasks that yield.

use chess_vocabulary::Kind;

use super::{End, Failure, Monitor};
use crate::execution::{Ending, Execution};

/// Judges executions far beyond the step limit.
pub(crate) struct Livelock;

impl Livelock {
    pub(super) const fn new() -> Self {
        Self
    }
}

impl Monitor for Livelock {
    /// Livelock: tasks yield, and the execution does not end although every task runs repeatedly.
    /// If no execution of the test has ended so far, the test may only be long. Then the execution
    /// counts as a livelock only if the tasks repeat a cycle of events, or if its schedule is known
    /// not to end.
    ///
    /// Spin: one task runs without yielding while other tasks are enabled (the good-samaritan
    /// rule).
    fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
        let budget = &execution.budget;
        let lately = |step: u64| step != 0 && step >= budget.steps / 2;
        let current = execution.schedule.current;
        let others = execution
            .schedule
            .enabled
            .iter()
            .any(|task| task != current);
        let is_known = budget.longest > 0 || budget.cycle.is_some() || budget.is_supposed_endless;
        if lately(budget.last_wait) {
            (is_known && !execution.may_be_long()).then_some(Ending::Livelock)
        } else if others && !lately(budget.last_switch) {
            Some(Ending::Spin(current))
        } else {
            None
        }
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        // The message names tasks and lines. These are found when the failure is reported.
        match end.execution.ending {
            Ending::Livelock => Some(Failure::new(Kind::Livelock, "")),
            Ending::Spin(_) => Some(Failure::new(Kind::Spin, "")),
            _ => None,
        }
    }
}
