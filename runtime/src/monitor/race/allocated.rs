//! Allocations: each counts as a write of its whole block by the allocating task.
//!
//! The engine does not see the writes of an initialiser in safe code. Therefore a block counts as
//! written when it is allocated, and the allocation must happen before each access to it (Rust's
//! memory model has such a write, too). A record of the write in each granule of the block would
//! cost too much. It is looked up at the first access to a granule, and recorded if the granule has
//! a longer history: a task that knows of a later access knows of the allocation, or races with it.

use super::Races;
use super::lines::mark_of;
use super::shadow::{Extent, Word};
use super::tasks::is_known;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Site, TaskId};
use crate::platform::heap;
use crate::platform::heap::Block;

/// The allocations of one execution.
pub(super) struct Allocations {
    /// The number of the newest allocation before it.
    before: u32,
    /// The write of each allocation, by its number relative to `before`: a word for all bytes of a
    /// granule, or [`Word::NONE`] if all tasks know of it.
    words: EngineVec<Word>,
    /// The bounds of a live block whose allocation the running task knows.
    settled: (usize, usize),
    heap: Arena,
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

    /// Begins a new execution. Returns the address from which on its allocations lie, except those
    /// in memory that was freed first.
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
    fn word_of(&self, block: Block) -> Word {
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

impl Races {
    /// Records that `task` allocated a block.
    pub(crate) fn allocate(&mut self, task: TaskId, block: Block, site: Option<Site>) {
        // All operations of the first task so far happen before those of tasks that are created
        // later.
        let word = if self.tasks.live == 1 {
            Word::NONE
        } else if let Some(epoch) = self.epoch_of(task) {
            Word::new(epoch, Extent::OF_BLOCK, mark_of(site), false)
        } else {
            return;
        };
        let all = &mut self.allocations;
        let place = block.number.wrapping_sub(all.before).wrapping_sub(1) as usize;
        if place >= all.words.len() {
            // The allocations in between were not made by tasks.
            all.words.resize(place, Word::NONE);
            all.words.push(word);
        } else {
            all.words[place] = word;
        }
        all.settled = (block.start, block.start + block.size);
    }

    /// Whether `task`, which runs, knows of the allocation of the memory at `address`, if it is
    /// memory of the heap.
    pub(super) fn settles(&mut self, task: TaskId, address: usize) -> bool {
        if self.allocations.is_settled(address) {
            return true;
        }
        let Some(block) = (self.allocations.heap.block)(address) else {
            return true;
        };
        let word = self.allocations.word_of(block);
        let clock = &self.tasks.get(task).clock;
        let is_settled = word == Word::NONE || is_known(&self.epochs, clock, word.epoch(), task);
        if is_settled {
            self.allocations.settled = (block.start, block.start + block.size);
        }
        is_settled
    }
}
