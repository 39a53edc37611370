//! Failures: their kinds, places and messages.

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::Panic;

/// The kinds of failure, as in reports and in the interface for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A panic that the test did not expect, or a missing one.
    Panic,
    /// No task is enabled.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// A task ran without yielding (the good-samaritan rule).
    Spin,
    /// The process died.
    Crash,
    /// Two unordered accesses to common memory.
    Race,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// A block was freed twice.
    DoubleFree,
    /// Memory was freed that had never been allocated.
    InvalidFree,
    /// Memory was not freed, and nothing refers to it.
    Leak,
    /// The same schedule did not fail again.
    Nondeterminism,
}

impl Kind {
    /// The kind's name in the documented interface.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::Spin => "spin",
            Self::Crash => "crash",
            Self::Race => "race",
            Self::UseAfterFree => "use-after-free",
            Self::DoubleFree => "double-free",
            Self::InvalidFree => "invalid-free",
            Self::Leak => "leak",
            Self::Nondeterminism => "nondeterminism",
        }
    }
}

/// The reason why an execution failed. Two failures are equal if their reports are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// The details that are known when the failure is found. Words that name tasks, or that take
    /// long to find, are added when it is reported: two failures with the same message and place
    /// count as one.
    pub(crate) message: EngineVec<u8>,
    pub(crate) place: Option<Place>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: &str) -> Self {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(message.as_bytes());
        Self {
            kind,
            message: bytes,
            place: None,
        }
    }

    /// Whether both are the same failure, even if some values in their messages differ: the values
    /// that an assertion compared, or numbers from the system, such as a port or a descriptor.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.place == other.place && self.said().eq(other.said())
    }

    /// The first line of the message, without the numbers in it.
    fn said(&self) -> impl Iterator<Item = &u8> {
        let line = self.message.split(|&byte| byte == b'\n').next();
        let bytes = line.unwrap_or_default().iter();
        bytes.filter(|byte| !byte.is_ascii_digit())
    }

    /// The failure in place of one that did not occur again under its schedule.
    pub(crate) fn not_repeated(mut self) -> Self {
        let intro = "the same schedule did not fail in the same way again; at first: ";
        self.message.splice(0..0, intro.bytes());
        self.kind = Kind::Nondeterminism;
        self
    }

    pub(super) fn from_panic(panic: &Panic) -> Self {
        Self {
            kind: Kind::Panic,
            message: panic.message.clone(),
            place: Some(panic.place.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_does_not_come_again_is_one_of_nondeterminism() {
        let failure = Failure::new(Kind::Panic, "too few").not_repeated();
        assert_eq!(failure.kind, Kind::Nondeterminism);
        assert_eq!(
            String::from_utf8_lossy(&failure.message),
            "the same schedule did not fail in the same way again; at first: too few"
        );
    }
}
