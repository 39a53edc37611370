//! The writes of the allocations of one execution.

use super::shadow::Word;
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::heap::{self, Block};

/// The allocations of one execution.
pub(super) struct Allocations {
    /// The number of the newest allocation before it.
    pub(super) before: u32,
    /// The write of each allocation, by its number relative to `before`: a word for all bytes of a
    /// granule, or [`Word::NONE`] if all tasks know of it.
    pub(super) words: EngineVec<Word>,
    /// The bounds of a live block whose allocation the running task knows.
    pub(super) settled: (usize, usize),
    pub(super) heap: Arena,
}

/// The functions of the heap that the monitor needs.
pub(super) struct Arena {
    /// The live block around an address.
    pub(super) block: fn(usize) -> Option<Block>,
    /// The address at which the next block will begin.
    pub(super) end: fn() -> usize,
}

fn block_at(address: usize) -> Option<Block> {
    match heap::block_around(address) {
        Some((block, true)) => Some(block),
        _ => None,
    }
}

impl Allocations {
    pub(super) const fn new() -> Self {
        Self {
            before: 0,
            words: engine_vec(),
            settled: (0, 0),
            heap: Arena {
                block: block_at,
                end: heap::end,
            },
        }
    }

    /// Begins a new execution. Returns the lowest address of its allocations. Allocations that reuse
    /// freed memory may lie below it.
    pub(super) fn begin(&mut self) -> usize {
        self.before = heap::allocations();
        self.words.clear();
        self.settled = (0, 0);
        (self.heap.end)()
    }

    /// Forgets the settled block, because another task runs or a block is freed.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.settled = (0, 0);
    }

    /// Whether memory is live, and the running task knows of its allocation, if it is memory of the
    /// heap. This is a quick check, which may return false although both hold.
    #[inline]
    pub(super) fn is_settled(&self, address: usize) -> bool {
        let (start, end) = self.settled;
        start <= address && address < end || !heap::contains(address)
    }

    /// The write of a block's allocation; [`Word::NONE`] if all tasks know of it.
    pub(super) fn word_of(&self, block: Block) -> Word {
        let place = block.number.wrapping_sub(self.before).wrapping_sub(1);
        let word = self.words.get(place as usize);
        word.copied().unwrap_or(Word::NONE)
    }

    /// As [`Self::word_of`], of the block around an address.
    pub(super) fn word_at(&self, address: usize) -> Word {
        (self.heap.block)(address).map_or(Word::NONE, |block| self.word_of(block))
    }

    /// Replaces the program's heap by another one.
    #[cfg(test)]
    pub(super) fn set_heap(&mut self, heap: Arena) {
        self.heap = heap;
    }

    /// Treats all memory as one block that has just been settled.
    #[cfg(test)]
    pub(super) fn settle_all(&mut self) {
        self.settled = (0, usize::MAX);
    }
}
