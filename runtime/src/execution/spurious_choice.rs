//! Spurious events as choices of the search: waits that end without a wake-up, and weak exchanges that
//! fail.

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

    /// Whether this wait ends at once and spuriously: a choice of the search that costs as much as
    /// a preemption. It never does within `atomic` code.
    pub(super) fn wakes_spuriously(&mut self) -> bool {
        let wakes = !mark::is_inside() && self.chooses_spurious();
        if wakes {
            self.running().note = Note::WOKE_SPURIOUSLY;
        }
        wakes
    }
}

/// Whether this weak compare-exchange, which could succeed, must fail. This is a choice of the
/// search that costs as much as a preemption. Call it after [`before`](super::before), and only if
/// the exchange would succeed.
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
