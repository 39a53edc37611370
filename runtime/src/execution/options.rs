//! The options of executions.

use chess_vocabulary::Fault;

/// The rule for when the deadline of a task may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timers {
    /// At any time. While a task can run, or before an earlier deadline, this costs as much as a
    /// preemption.
    Any,
    /// Only when no other task can run, the earliest deadline first.
    Last,
}

/// The rule for spurious events: a task wakes up, or its weak compare-exchange fails, without a
/// reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spurious {
    /// All of them may happen; each costs as much as a preemption.
    Any,
    /// None happens.
    Never,
}

/// The limit of a test that is only run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    /// A very large number of steps.
    Steps,
    /// The time budget.
    Time,
}

/// The kinds of failures that the search may choose.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Faults(u32);

impl Faults {
    pub(crate) const NONE: Self = Self(0);

    /// These kinds and `fault`.
    #[must_use]
    pub(crate) fn with(self, fault: Fault) -> Self {
        Self(self.0 | 1 << fault.index())
    }

    pub(super) fn contain(self, fault: Fault) -> bool {
        self.0 & 1 << fault.index() != 0
    }
}
