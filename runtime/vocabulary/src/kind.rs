//! The kinds of failure.

use crate::token::tokens;

/// The kinds of failure, as in reports and in the interface for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A panic or an error of the test that the test's attributes do not permit, or a missing
    /// panic.
    Panic,
    /// No task is enabled.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// A task ran, or waited in a loop, without yielding (the good-samaritan rule).
    Spin,
    /// The process died.
    Crash,
    /// Two accesses to the same memory without an order. At least one is a write, and at least one
    /// is not atomic.
    Race,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// An access was not within the bytes of one block.
    OutOfBounds,
    /// An access was in a dead stack frame: its function had returned, or its task had ended.
    UseAfterReturn,
    /// A block was freed twice.
    DoubleFree,
    /// Memory was freed that had never been allocated.
    InvalidFree,
    /// Memory was not freed, and nothing refers to it.
    Leak,
    /// Two tasks were in calls of one object that exclude each other.
    ThreadSafety,
    /// An invariant of the test did not hold after an operation.
    Invariant,
    /// The execution ended while a liveness property of the test was hot.
    Liveness,
    /// In all schedules, an assumption of the test did not hold.
    Assumption,
    /// The same schedule did not fail again.
    Nondeterminism,
}

impl Kind {
    /// Whether executions with such a failure do not end by themselves.
    pub fn is_without_end(self) -> bool {
        matches!(self, Self::Livelock | Self::Spin)
    }

    /// Whether the program has undefined behaviour.
    pub fn is_undefined_behaviour(self) -> bool {
        matches!(
            self,
            Self::Race
                | Self::UseAfterFree
                | Self::OutOfBounds
                | Self::UseAfterReturn
                | Self::DoubleFree
                | Self::InvalidFree
        )
    }
}

tokens! {
    Kind {
        Panic = "panic",
        Deadlock = "deadlock",
        Livelock = "livelock",
        Spin = "spin",
        Crash = "crash",
        Race = "race",
        UseAfterFree = "use-after-free",
        OutOfBounds = "out-of-bounds",
        UseAfterReturn = "use-after-return",
        DoubleFree = "double-free",
        InvalidFree = "invalid-free",
        Leak = "leak",
        ThreadSafety = "thread-safety",
        Invariant = "invariant",
        Liveness = "liveness",
        Assumption = "assumption",
        Nondeterminism = "nondeterminism",
    }
}
