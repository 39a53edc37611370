//! Liveness properties of the test: an execution fails if it ends while a property is hot.

use chess_vocabulary::Kind;

use super::{End, Failure, Monitor};
use crate::base::source_path::Place;
use crate::execution::Ending;

/// Judges executions that end while a property is hot.
pub(crate) struct Liveness;

impl Liveness {
    pub(super) const fn new() -> Self {
        Self
    }
}

impl Monitor for Liveness {
    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let hot = end.execution.liveness.hot.first()?;
        if end.execution.ending != Ending::Finished {
            // The report of a deadlock or livelock names the properties.
            return None;
        }
        let name = String::from_utf8_lossy(&hot.name);
        let message = format!("the test ended while the liveness property \"{name}\" was hot");
        let mut failure = Failure::new(Kind::Liveness, &message);
        failure.place = Some(Place::of(hot.since));
        Some(failure)
    }
}
