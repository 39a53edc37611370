//! The hooks of the heap: the facts about tasks that it needs, and the calls that announce its work.

use super::allocation::{Allocation, Block, Free};

/// The tasks whose allocations the heap serves. All calls are static.
pub(crate) trait Tasks {
    /// Whether the caller is a task. Then no other thread allocates.
    fn is_task() -> bool;

    /// A freed block of `class` that the search gives out again, if the caller is a task.
    fn reused(class: usize) -> Option<usize>;

    /// A block was allocated.
    fn allocated(allocation: Allocation);

    /// A block is about to be freed, or the free is invalid. Returns whether the block is kept from
    /// the quarantine. `has_objects` states that synchronization objects may lie in it.
    fn frees(free: Free, has_objects: bool, class: usize) -> bool;

    /// A block with synchronization objects is about to be freed, and no monitor needs the frees.
    fn frees_objects(start: usize, size: usize);

    /// A block became another allocation in the same place.
    fn reallocated(old: Block, new: Block);
}
