//! Allocations: each counts as a write of its whole block by the allocating task.
//!
//! The engine does not see the writes of an initialiser in safe code. Therefore a block counts as
//! written when it is allocated, and the allocation must happen before each access to it (Rust's
//! memory model has such a write, too). It would cost too much to record this write in each granule
//! of the block. So the write is looked up at the first access to a granule. The write is recorded
//! in a granule only if the granule gets a record. A granule without a record does not need the
//! write: a task that knows of the first access to the granule also knows of the allocation, unless
//! the first access itself races with the allocation.

use super::Races;
use super::lines::mark_of;
use super::shadow::{Extent, Word};
use super::task_order::is_known;
use crate::execution::{Site, TaskId};
use crate::platform::heap::Block;

impl Races {
    /// Records that `task` allocated a block.
    pub(crate) fn allocate(&mut self, task: TaskId, block: Block, site: Option<Site>) {
        // There is only the first task. Its operations so far happen before the operations of all
        // tasks that are created later.
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
        all.place(block);
    }

    /// Whether the running `task` knows of the allocation of the memory at `address`. Always true
    /// for memory that is not in the heap.
    pub(super) fn settles(&mut self, task: TaskId, address: usize) -> bool {
        if self.allocations.is_settled(address, 1) {
            return true;
        }
        let Some(block) = (self.allocations.heap.block)(address) else {
            return true;
        };
        let word = self.allocations.word_of(block);
        let clock = &self.tasks.get(task).clock;
        let is_settled = word == Word::NONE || is_known(&self.epochs, clock, word.epoch(), task);
        if is_settled {
            self.allocations.settled = block.requested;
        }
        is_settled
    }
}
