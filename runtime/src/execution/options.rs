//! The options of executions.

use chess_vocabulary::Fault;

use super::state::START_OF_TIME;
use crate::base::fingerprint::mix;

/// The options of the executions of a test. They stay the same from one execution to the next.
pub(crate) struct Options {
    /// The step limit. Past it, the search makes no choices.
    pub(crate) max_steps: u64,
    /// When timeouts fire.
    pub(crate) timers: Timers,
    /// The spurious events that may happen.
    pub(crate) spurious: Spurious,
    /// The kinds of failing calls that the search may choose.
    pub(crate) faults: Faults,
    /// The limit of the execution if the test only runs once, and is neither explored nor
    /// replayed. `None` in an exploration or a replay.
    pub(crate) only_runs: Option<Limit>,
    /// The execution is given up at the step limit.
    pub(crate) ends_at_limit: bool,
    /// The output of the tasks is kept, for a report.
    pub(crate) keeps_output: bool,
    /// Each execution has its own process.
    pub(crate) has_processes: bool,
    /// The virtual time at the start of each execution, in nanoseconds.
    pub(super) start: u64,
}

impl Options {
    /// Lets executions of the test with this name start at a virtual time of its own, up to 1000 s
    /// after [`START_OF_TIME`]. Tests that make file names from the time would otherwise make the
    /// same names.
    pub(crate) fn set_start(&mut self, test: &str) {
        const RANGE: u64 = 1_000_000_000_000;
        let hash = test.bytes().fold(0, |hash, byte| mix(hash, byte.into()));
        self.start = START_OF_TIME + hash % RANGE;
    }

    pub(super) const fn new() -> Self {
        Self {
            max_steps: 20_000,
            timers: Timers::Any,
            spurious: Spurious::Any,
            faults: Faults::NONE,
            only_runs: None,
            ends_at_limit: false,
            keeps_output: false,
            has_processes: false,
            start: START_OF_TIME,
        }
    }
}

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

    /// These kinds, and `fault` as well.
    #[must_use]
    pub(crate) fn with(self, fault: Fault) -> Self {
        Self(self.0 | 1 << fault.index())
    }

    pub(super) fn contain(self, fault: Fault) -> bool {
        self.0 & 1 << fault.index() != 0
    }
}
