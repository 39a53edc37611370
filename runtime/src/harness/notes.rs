//! The notes on events in reports, besides the operation.

use core::fmt::{self, Display, Formatter};

use crate::execution::{Note, TaskId};

/// A note that is not empty, in words.
pub(super) struct Noted(Note);

/// The words of a note, unless it is empty.
pub(super) fn noted(note: Note) -> Option<Noted> {
    (note != Note::NONE).then_some(Noted(note))
}

impl Display for Noted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const COSTS: &str = "(counts as a preemption)";
        let note = self.0;
        if let Some(TaskId(task)) = note.woken() {
            return match task {
                0 => write!(f, "wakes main"),
                number => write!(f, "wakes task {number}"),
            };
        }
        if let Some(outcome) = note.drawn() {
            return write!(f, "drew {outcome}");
        }
        match note {
            Note::WOKE_SPURIOUSLY => write!(f, "woke spuriously {COSTS}"),
            Note::TIMED_OUT => write!(f, "timed out"),
            Note::TIMED_OUT_EARLY => write!(f, "timed out early {COSTS}"),
            Note::ENDED_EARLY => write!(f, "ended early {COSTS}"),
            Note::FAILED_SPURIOUSLY => write!(f, "failed spuriously {COSTS}"),
            Note::REUSED => write!(f, "after it was given freed memory {COSTS}"),
            _ => Ok(()),
        }
    }
}
