//! The quarantine: a queue of freed blocks that allocations may not reuse yet.
//!
//! A block that a task frees waits here. A use after free then does not access a newer object in
//! the same place. When more than [`QUARANTINE`] bytes wait, the oldest blocks are released. Blocks
//! larger than [`QUARANTINE_BLOCK`], and blocks that are freed outside of tasks, can be reused at
//! once. The end of an execution drops all blocks (`arena::reset`). For the reuse of a freed block
//! as a choice of the search, see `execution/address_reuse.rs`.

use super::block::{class_at, class_size, link, next_of};

/// The maximum number of freed bytes that wait in quarantine within one execution.
const QUARANTINE: usize = 16 << 20;
/// Larger blocks than this do not enter the quarantine, and can be reused at once.
pub(crate) const QUARANTINE_BLOCK: usize = 64 << 10;
/// The content of the waiting blocks of at most [`POISONED`] bytes.
pub(super) const POISON: u8 = 0xdd;
pub(super) const POISONED: usize = 512;

/// A queue of free blocks, as two lists.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Quarantine {
    /// The head of the list of the blocks that were freed last, the newest first; 0 if the list is
    /// empty.
    pub(super) newest: usize,
    /// The head of the list of the blocks that were freed earlier, the oldest first; 0 if the list
    /// is empty.
    oldest: usize,
    bytes: usize,
}

impl Quarantine {
    pub(super) const EMPTY: Self = Self {
        newest: 0,
        oldest: 0,
        bytes: 0,
    };

    /// Whether a block of `size` more bytes fits into the quarantine without a release of other
    /// blocks.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a part of free")]
    pub(super) fn has_room(&self, size: usize) -> bool {
        self.bytes + size <= QUARANTINE
    }

    /// Adds a block of `size` bytes, which the caller has linked to `newest`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a part of free")]
    pub(super) fn add(&mut self, start: usize, size: usize) {
        self.newest = start;
        self.bytes += size;
    }

    /// If more bytes wait than the quarantine may hold, removes the oldest block, and returns its
    /// start and its class. Otherwise returns `None`.
    ///
    /// # Safety
    ///
    /// No other thread runs, and all blocks here are free.
    pub(super) unsafe fn release_oldest(&mut self) -> Option<(usize, usize)> {
        if self.has_room(0) {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if self.oldest == 0 {
                while self.newest != 0 {
                    let newest = self.newest;
                    self.newest = next_of(newest);
                    link(newest, class_at(newest), self.oldest);
                    self.oldest = newest;
                }
            }
            let oldest = self.oldest;
            let class = class_at(oldest);
            self.oldest = next_of(oldest);
            self.bytes -= class_size(class);
            Some((oldest, class))
        }
    }
}
