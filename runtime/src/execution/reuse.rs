//! Memory that is used again, as a choice of the search.
//!
//! What a task frees is kept back, so that later uses of it are found. But code that
//! compares pointers fails where a block is used again while a task still holds its old
//! address, as in the ABA problem. So in programs that compare and exchange pointers, a
//! block whose address another task has read from an atomic may be given to whoever
//! allocates as much, as long as that task has not ended. Such an allocation costs as much
//! as a preemption.

use super::event::Note;
use super::object::ObjectId;
use super::state::Execution;
use super::task::State;
use super::{Effect, TaskId, mark, running};
use crate::base::memory::{EngineVec, engine_vec};
use crate::monitor::Block;
use crate::platform::heap;

/// So many addresses that tasks have read are remembered.
const SEEN: usize = 256;
/// So many blocks are kept for a choice.
const KEPT: usize = 64;
/// An allocation may get one of so many.
const OFFERED: usize = 3;

/// Where the objects of the side table lie that stand for the blocks of a class; no
/// other object does.
const CLASSES: usize = 512;

/// What may be used again in one execution.
pub(crate) struct Reuse {
    /// Blocks, by their start, and tasks that have read a pointer to them.
    seen: EngineVec<(usize, TaskId)>,
    /// Free blocks, and their classes.
    kept: EngineVec<(usize, usize)>,
}

impl Reuse {
    pub(crate) const fn new() -> Self {
        Self {
            seen: engine_vec(),
            kept: engine_vec(),
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.kept.clear();
    }
}

impl Execution {
    /// The current task has read `pointer` from an atomic.
    fn see(&mut self, pointer: usize) {
        if let Some((block, true)) = heap::block_around(pointer) {
            let seen = (block.start, self.current);
            if self.reuse.seen.len() < SEEN && !self.reuse.seen.contains(&seen) {
                self.reuse.seen.push(seen);
            }
        }
    }

    /// Whether a task that has not ended, other than the current one, may hold a pointer
    /// to the block at `start`.
    fn is_held(&self, start: usize) -> bool {
        self.reuse.seen.iter().any(|&(block, task)| {
            block == start && task != self.current && self.task(task).state != State::Finished
        })
    }

    /// The object that stands for the blocks of a class.
    fn blocks_of(&mut self, class: usize) -> ObjectId {
        self.object(CLASSES + class * 8)
    }

    /// Whether `block`, which the current task frees, is kept for a choice.
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

    /// The block that an allocation of the current task gets, if it is one that was kept.
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
        let outcome = self.choose_outcome(count as u32 + 1, true) as usize;
        let place = outcome.checked_sub(1)?;
        self.running().note = Note::REUSED;
        Some(self.reuse.kept.remove(offered[place]).0)
    }
}

/// The task has read a pointer from an atomic.
pub fn read_pointer(pointer: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        if (*execution).observers.of_pointers {
            (*execution).see(pointer);
        }
    }
}

/// The start of the free block that the task's allocation gets, if the search says so.
#[inline]
pub(crate) fn reused(class: usize) -> Option<usize> {
    let execution = running()?;
    // SAFETY: see `running`.
    unsafe {
        if (*execution).observers.of_pointers {
            (*execution).reuse(class)
        } else {
            None
        }
    }
}
