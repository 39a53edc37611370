//! Allocations: each is a write of its whole block, by the task that allocates.
//!
//! What an initialiser writes in safe code nobody sees. So a block is as good as written when
//! it is allocated, and whoever accesses it must have heard of that (Rust's memory model knows
//! such a write, too). To note it in each granule of the block would cost too much. It is looked
//! up where a granule is accessed for the first time, and noted where the granule has a longer
//! history: who knows of a later access knows of the allocation, or races with it.

use super::Races;
use super::lines::mark_of;
use super::shadow::{Extent, Word};
use super::tasks::is_known;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Site, TaskId};
use crate::monitor::Block;
use crate::platform::heap;

/// The allocations of one execution.
pub(super) struct Allocations {
    /// The number of the newest one before it.
    before: u32,
    /// What is known of each one, by its number after that: a word of all bytes of a granule,
    /// or none where all tasks know of it.
    words: EngineVec<Word>,
    /// A live block whose allocation the running task knows of: from where to where.
    settled: (usize, usize),
    heap: Arena,
}

/// What is asked of the heap.
pub(super) struct Arena {
    /// The live block around an address.
    pub(super) block: fn(usize) -> Option<Block>,
    /// Where the next block will begin.
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

    /// A new execution begins; from where on memory lies that it allocates, unless that is given
    /// back first.
    pub(super) fn begin(&mut self) -> usize {
        self.before = heap::allocations();
        self.words.clear();
        self.settled = (0, 0);
        (self.heap.end)()
    }

    /// Another task runs, or a block is given back.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.settled = (0, 0);
    }

    /// Whether memory is live, and the running task knows of its allocation, if it is memory of
    /// the heap. At once or not at all: it may say no where that is so.
    #[inline]
    pub(super) fn is_settled(&self, address: usize) -> bool {
        let (start, end) = self.settled;
        start <= address && address < end || !heap::contains(address)
    }

    /// What is known of a block's allocation; [`Word::NONE`] where all tasks know of it.
    fn word_of(&self, block: Block) -> Word {
        let place = block.number.wrapping_sub(self.before).wrapping_sub(1);
        let word = self.words.get(place as usize);
        word.copied().unwrap_or(Word::NONE)
    }

    /// As [`Self::word_of`], of the block around an address.
    pub(super) fn word_at(&self, address: usize) -> Word {
        (self.heap.block)(address).map_or(Word::NONE, |block| self.word_of(block))
    }

    /// Another heap than the program's.
    #[cfg(test)]
    pub(super) fn set_heap(&mut self, heap: Arena) {
        self.heap = heap;
    }

    /// As if all memory was of one block that has just been looked at.
    #[cfg(test)]
    pub(super) fn settle_all(&mut self) {
        self.settled = (0, usize::MAX);
    }
}

impl Races {
    /// `task` was given a block.
    pub(crate) fn allocate(&mut self, task: TaskId, block: Block, site: Option<Site>) {
        // Tasks that are made later know of all that the first one did before.
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
            // Those between were for no task.
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
