//! The writes of the allocations of one execution.

use super::shadow::{PAGE, Word};
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::heap::{self, Block};

/// The allocations of one execution.
pub(super) struct Allocations {
    /// The number of the newest allocation before this execution.
    pub(super) before: u32,
    /// For each allocation, a word with the write that the allocation counts as, or [`Word::NONE`]
    /// if all tasks know of the allocation. The index is the number of the allocation, counted from
    /// `before`.
    pub(super) words: EngineVec<Word>,
    /// The bounds of the requested bytes of a live block whose allocation the running task knows.
    pub(super) settled: (usize, usize),
    /// The end of a page. Memory below this address may have been free when the execution began,
    /// although accesses of earlier executions are recorded there. 0 if memory was put back: then
    /// the heap does not reuse free memory, and continues on a new page.
    old: usize,
    /// The bounds of the blocks below `old` that this execution allocated.
    reused: EngineVec<(usize, usize)>,
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
            old: 0,
            reused: engine_vec(),
            heap: Arena {
                block: block_at,
                end: heap::end,
            },
        }
    }

    /// Begins a new execution. Returns the lowest address of its new memory. Allocations that
    /// reuse freed memory may be below this address. `is_put_back`: whether memory was restored.
    pub(super) fn begin(&mut self, is_put_back: bool) -> usize {
        self.before = heap::allocations();
        self.words.clear();
        self.settled = (0, 0);
        self.reused.clear();
        let end = (self.heap.end)();
        self.old = if is_put_back {
            0
        } else {
            end.saturating_sub(1) | (PAGE - 1)
        };
        end
    }

    /// Records the bounds of a new block.
    pub(super) fn place(&mut self, block: Block) {
        self.settled = block.requested;
        if block.start < self.old {
            self.reused.push((block.start, block.start + block.size));
        }
    }

    /// The bounds of blocks that the last execution allocated in freed memory. They may be free in
    /// the next execution.
    pub(super) fn reused(&self) -> &[(usize, usize)] {
        &self.reused
    }

    /// Forgets the block in `settled`, because another task runs or a block is freed.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.settled = (0, 0);
    }

    /// Whether all of `length` bytes are requested bytes of one live block whose allocation the
    /// running task knows, or are not in the heap. A quick check, which may return `false`
    /// although this is so.
    #[inline]
    pub(super) fn is_settled(&self, address: usize, length: usize) -> bool {
        let (start, end) = self.settled;
        start <= address && address + length <= end || !heap::contains(address)
    }

    /// The word with the write that a block's allocation counts as. [`Word::NONE`] if all tasks
    /// know of the allocation.
    pub(super) fn word_of(&self, block: Block) -> Word {
        let place = block.number.wrapping_sub(self.before).wrapping_sub(1);
        let word = self.words.get(place as usize);
        word.copied().unwrap_or(Word::NONE)
    }

    /// As [`Self::word_of`], for the live block around an address. [`Word::NONE`] if there is
    /// none.
    pub(super) fn word_at(&self, address: usize) -> Word {
        (self.heap.block)(address).map_or(Word::NONE, |block| self.word_of(block))
    }

    /// Replaces the program's heap by another one.
    #[cfg(test)]
    pub(super) fn set_heap(&mut self, heap: Arena) {
        self.heap = heap;
    }

    /// Treats all memory as one live block whose allocation the running task knows.
    #[cfg(test)]
    pub(super) fn settle_all(&mut self) {
        self.settled = (0, usize::MAX);
    }
}
