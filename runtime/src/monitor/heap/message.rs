//! The message of a memory error: the access, and the places of the block's allocation and free.

use std::fmt::Write;

use super::super::Failure;
use super::{BlockEvent, Error, Heap, Outside, Role, Wrong};
use crate::base::source_path::line_of;
use crate::base::source_path::line_of_place;
use crate::execution::{DeadFrame, called};
use crate::platform::heap::Block;

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
        let (done, access) = match error.wrong {
            Wrong::Read(size) => ("read", format!("read of {}", bytes(size))),
            Wrong::Write(size) => ("written", format!("write of {}", bytes(size))),
            Wrong::Borrow(size) => ("borrowed", format!("borrow of {}", bytes(size))),
            Wrong::Sync(op) => ("used", op.name().to_owned()),
            Wrong::Free if error.block.is_some() => (
                "freed again",
                "a block of memory was freed twice".to_owned(),
            ),
            Wrong::Free => ("freed", "the freed memory was never allocated".to_owned()),
        };
        let mut text = match (error.wrong, error.block, error.outside) {
            (Wrong::Free, ..) => access,
            (_, Some(block), Some(outside)) => {
                format!("{access}, which {}", place(error.wrong, block, outside))
            }
            _ => match error.frame {
                Some(frame) => format!("{access} {}", place_of(frame)),
                None => format!("{access} in freed memory"),
            },
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

/// The place of an access to a dead frame.
fn place_of(DeadFrame { owner, has_ended }: DeadFrame) -> String {
    let owner = called(owner);
    if has_ended {
        format!("on the stack of {owner}, which has ended")
    } else {
        format!("on the stack of {owner}, in the frame of a function that has returned")
    }
}

/// The place of an access outside of a block, in words: its distance from the next block.
fn place(wrong: Wrong, block: Block, Outside { address, is_live }: Outside) -> String {
    let (low, high) = block.requested;
    let name = if is_live {
        format!("a block of {}", bytes(high - low))
    } else {
        "a freed block".to_owned()
    };
    if address < low {
        return format!("begins {} before the start of {name}", bytes(low - address));
    }
    match wrong {
        Wrong::Read(size) | Wrong::Write(size) | Wrong::Borrow(size) => {
            let after = (address + size).saturating_sub(high);
            format!("ends {} past the end of {name}", bytes(after))
        }
        _ if address == high => format!("begins at the end of {name}"),
        _ => format!("begins {} past the end of {name}", bytes(address - high)),
    }
}

fn bytes(size: usize) -> String {
    match size {
        1 => "1 byte".to_owned(),
        _ => format!("{size} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Op;

    const BLOCK: Block = Block {
        start: 0x1000,
        size: 64,
        requested: (0x1020, 0x102c),
        number: 1,
    };

    #[track_caller]
    fn assert_place(wrong: Wrong, address: usize, expected: &str) {
        let is_live = true;
        assert_eq!(place(wrong, BLOCK, Outside { address, is_live }), expected);
    }

    #[test]
    fn an_access_is_described_by_its_distance_from_the_requested_bytes() {
        let read = Wrong::Read(8);
        assert_place(
            read,
            0x1028,
            "ends 4 bytes past the end of a block of 12 bytes",
        );
        assert_place(
            read,
            0x102c,
            "ends 8 bytes past the end of a block of 12 bytes",
        );
        assert_place(
            Wrong::Write(1),
            0x101f,
            "begins 1 byte before the start of a block of 12 bytes",
        );
        let load = Wrong::Sync(Op::AtomicLoad);
        assert_place(load, 0x102c, "begins at the end of a block of 12 bytes");
        assert_place(
            load,
            0x1030,
            "begins 4 bytes past the end of a block of 12 bytes",
        );
    }

    #[test]
    fn the_size_of_a_freed_block_is_not_known() {
        let outside = Outside {
            address: 0x1030,
            is_live: false,
        };
        let place = place(Wrong::Read(1), BLOCK, outside);
        assert_eq!(place, "ends 5 bytes past the end of a freed block");
    }
}
