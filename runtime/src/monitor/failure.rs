//! Failures: their kinds, places and messages.

use chess_vocabulary::{Kind, message_words};

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::Panic;

/// The reason why an execution failed. Two failures are equal if their reports are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// The text for the report. [`Self::is_like`] compares failures by it. So details that differ
    /// between executions, such as the names of tasks, are added only when the failure is reported.
    /// Details that take long to find are added then, too.
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

    /// Whether both are the same failure: of the same kind, at the same place, with the same
    /// [words](message_words).
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.place == other.place
            && message_words(&self.message).eq(message_words(&other.message))
    }

    /// Returns the failure of kind [`Kind::Nondeterminism`] that is reported if this failure did
    /// not occur again under its schedule.
    pub(crate) fn not_repeated(mut self) -> Self {
        let intro = "the same schedule did not fail in the same way again; the first failure: ";
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
            "the same schedule did not fail in the same way again; the first failure: too few"
        );
    }
}
