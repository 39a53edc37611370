//! Reuse of freed memory, as a choice of the search.
//!
//! The heap holds back the blocks that a task frees (`platform/heap/quarantine.rs`), so that later
//! accesses to freed blocks are found. But some failures need the reuse of a block. In the ABA
//! problem, a task holds the address of a block that was freed and reused. The task compares this
//! address with that of the new block, and finds them equal.
//!
//! Therefore, in programs that compare and exchange pointers, the search may let an allocation
//! reuse a freed block of the same size class. It may do so only if another task has read the
//! address of the block from an atomic, and has not ended. Such an allocation costs as much as a
//! preemption.

use super::running::with;
use super::state::Execution;
use super::task::State;
use super::{Effect, Note, mark};
use crate::platform::heap;
use crate::platform::heap::Block;
use crate::search::{ObjectId, Outcomes};

/// The maximum number of remembered pairs of a block and a task that has read its address.
const SEEN: usize = 256;
/// The maximum number of freed blocks that are kept so that the search may choose to reuse them.
const KEPT: usize = 64;
/// The maximum number of kept blocks among which the search chooses for one allocation.
const OFFERED: usize = 3;

/// For each size class, one object of the side table stands for the blocks of the class. This is
/// the address of the first of these objects. No other object lies at their addresses.
const CLASSES: usize = 512;

impl Execution {
    /// Records that the current task has read `pointer` from an atomic.
    fn see(&mut self, pointer: usize) {
        if let Some((block, true)) = heap::block_around(pointer) {
            let seen = (block.start, self.schedule.current);
            if self.reuse.seen.len() < SEEN && !self.reuse.seen.contains(&seen) {
                self.reuse.seen.push(seen);
            }
        }
    }

    /// Whether a task that has not ended, other than the current one, may hold a pointer
    /// to the block at `start`.
    fn is_held(&self, start: usize) -> bool {
        self.reuse.seen.iter().any(|&(block, task)| {
            block == start
                && task != self.schedule.current
                && self.task(task).state != State::Finished
        })
    }

    /// The object that stands for the blocks of a size class.
    fn blocks_of(&mut self, class: usize) -> ObjectId {
        self.object(CLASSES + class * 8)
    }

    /// Keeps `block`, which the current task frees, if the search may choose to reuse it for a
    /// later allocation. Returns whether the block is kept.
    #[cold]
    pub(super) fn keeps(&mut self, block: Block, class: usize) -> bool {
        let has_room = self.reuse.kept.len() < KEPT && block.size <= heap::QUARANTINE_BLOCK;
        let keeps = has_room && !mark::is_inside() && self.is_held(block.start);
        if keeps {
            self.reuse.kept.push((block.start, class));
            let blocks = self.blocks_of(class);
            let trace = &mut self.log.trace;
            trace.access(blocks, Effect::Write, Effect::Write);
        }
        keeps
    }

    /// Lets the search choose a kept block for an allocation of the current task in a size class.
    /// Returns the start of the block, or `None` if the search chooses none.
    #[cold]
    fn reuse(&mut self, class: usize) -> Option<usize> {
        if mark::is_inside() {
            return None;
        }
        let blocks = self.blocks_of(class);
        self.log.trace.access(blocks, Effect::Read, Effect::Read);
        let fits = |&place: &usize| {
            let (start, of) = self.reuse.kept[place];
            of == class && self.is_held(start)
        };
        let mut offered = [0; OFFERED];
        let mut count = 0;
        // The newest first.
        for place in (0..self.reuse.kept.len()).rev().filter(fits).take(OFFERED) {
            offered[count] = place;
            count += 1;
        }
        let outcome = self.choose_outcome(count as u32 + 1, Outcomes::Spurious) as usize;
        let place = outcome.checked_sub(1)?;
        self.running().note = Note::REUSED;
        Some(self.reuse.kept.remove(offered[place]).0)
    }
}

/// Records that the calling task has read `pointer` from an atomic.
pub fn read_pointer(pointer: usize) {
    with(|execution| {
        if execution.observers.of_pointers {
            execution.see(pointer);
        }
    });
}

/// Lets the search choose a freed block that an allocation of the calling task in a size class
/// reuses. Returns the start of the block, or `None` if the allocation must get a new block.
#[inline]
pub(crate) fn reused(class: usize) -> Option<usize> {
    with(|execution| {
        let is_choice = execution.observers.of_pointers;
        is_choice.then(|| execution.reuse(class)).flatten()
    })
    .flatten()
}
