//! Invariants of the test: an execution ends at the first operation after which an invariant does
//! not hold.

use chess_vocabulary::Kind;

use super::{End, Failure, Monitor};
use crate::base::source_path::Place;

/// Judges executions that an invariant ended.
pub(crate) struct Invariants;

impl Invariants {
    pub(super) const fn new() -> Self {
        Self
    }
}

impl Monitor for Invariants {
    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let broken = end.execution.invariants.broken.as_ref()?;
        let name = String::from_utf8_lossy(&broken.name);
        let mut message = format!("the invariant \"{name}\" does not hold");
        if let Some(panic) = &broken.panic {
            message.push_str(": ");
            message.push_str(&String::from_utf8_lossy(panic));
        }
        let mut failure = Failure::new(Kind::Invariant, &message);
        failure.place = broken.site.map(Place::of);
        Some(failure)
    }
}
