//! The hooks of the heap: it gets facts about tasks through them, and announces its work.

use super::allocation::{Allocation, Block, Free};

/// The tasks whose allocations the heap serves. All calls are static.
pub(crate) trait Tasks {
    /// Whether the caller is a task. Then no other thread allocates.
    fn is_task() -> bool;

    /// The freed block of `class` that the search chooses for reuse, if the caller is a task and
    /// the search chooses one.
    fn reused(class: usize) -> Option<usize>;

    /// A block was allocated.
    fn allocated(allocation: Allocation);

    /// A block is about to be freed, or the free is invalid. `has_objects` states that
    /// synchronization objects may lie in the block. Returns whether the block must not enter the
    /// quarantine, because [`Self::reused`] may return it.
    fn frees(free: Free, has_objects: bool, class: usize) -> bool;

    /// A block with synchronization objects is about to be freed, and no monitor watches frees.
    fn frees_objects(start: usize, size: usize);

    /// A block became another allocation in the same place.
    fn reallocated(old: Block, new: Block);
}
