//! The message of a memory error: the access, and the places of the block's allocation and free.

use std::fmt::Write;

use super::super::Failure;
use super::{BlockEvent, Error, Heap, Role, Wrong};
use crate::base::source_path::line_of;
use crate::base::source_path::line_of_place;
use crate::execution::called;

impl Heap {
    /// Adds the message and the place of the error to a failure.
    pub(super) fn describe(&self, error: &Error, failure: &mut Failure) {
        let words = self.words(error);
        failure.message.extend_from_slice(words.as_bytes());
        let found = self.found(Role::Error);
        failure.place = failure
            .place
            .take()
            .or_else(|| found.and_then(|found| found.place.clone()));
    }

    fn found(&self, role: Role) -> Option<&BlockEvent> {
        let place = self.roles.iter().position(|&it| it == Some(role))?;
        self.found.get(place)
    }

    fn words(&self, error: &Error) -> String {
        let (done, mut text) = match error.wrong {
            Wrong::Read(size) => ("read", format!("read of {} in freed memory", bytes(size))),
            Wrong::Write(size) => (
                "written",
                format!("write of {} in freed memory", bytes(size)),
            ),
            Wrong::Borrow(size) => (
                "borrowed",
                format!("borrow of {} in freed memory", bytes(size)),
            ),
            Wrong::Sync(op) => ("used", format!("{} in freed memory", op.name())),
            Wrong::Free if error.block.is_some() => (
                "freed again",
                "a block of memory was freed twice".to_owned(),
            ),
            Wrong::Free => ("freed", "the freed memory was never allocated".to_owned()),
        };
        let lines = [
            ("allocated", self.found(Role::Allocation)),
            ("freed", self.found(Role::Free)),
            (done, self.found(Role::Error)),
        ];
        for (what, found) in lines {
            let Some(found) = found else { continue };
            let _ = write!(text, "\n{what} by {}", called(found.task));
            // The line of the shim's caller is more precise than the stack.
            let exact = error.site.filter(|_| what == done);
            if let Some(site) = exact {
                let _ = write!(text, " at {}", line_of(site));
            } else if let Some(place) = &found.place {
                let _ = write!(text, " at {}", line_of_place(place));
            } else if let Some(site) = found.after {
                let _ = write!(text, " after {}", line_of(site));
            }
        }
        text
    }
}

fn bytes(size: usize) -> String {
    match size {
        1 => "1 byte".to_owned(),
        _ => format!("{size} bytes"),
    }
}
