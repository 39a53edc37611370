//! Spurious events as choices of the search: waits that end without a wake-up, and weak exchanges
//! that fail.

use super::options::Spurious;
use super::running::with;
use super::state::Execution;
use super::{Note, mark};
use crate::search::Outcomes;

impl Execution {
    /// Whether a possible spurious event happens: a choice of the search.
    pub(super) fn chooses_spurious(&mut self) -> bool {
        self.options.spurious == Spurious::Any && self.choose_outcome(2, Outcomes::Spurious) == 1
    }

    /// Lets the search choose whether this wait ends at once and spuriously. A spurious end costs
    /// as much as a preemption. Within `atomic` code, there is none.
    pub(super) fn wakes_spuriously(&mut self) -> bool {
        let wakes = !mark::is_inside() && self.chooses_spurious();
        if wakes {
            self.running().note = Note::WOKE_SPURIOUSLY;
        }
        wakes
    }
}

/// Lets the search choose whether a weak compare-exchange that could succeed fails. Such a failure
/// costs as much as a preemption. A shim calls this function after [`before`](super::before), and
/// only if the exchange would succeed.
pub fn fails_spuriously() -> bool {
    with(|execution| {
        let fails = !mark::is_inside() && execution.chooses_spurious();
        if fails {
            execution.running().note = Note::FAILED_SPURIOUSLY;
        }
        fails
    })
    .unwrap_or(false)
}
