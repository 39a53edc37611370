//! The hooks by which the heap asks the engine about tasks, and announces allocations and frees.

use super::allocation::{Allocation, Block, Free};

/// The engine's answers and reactions to the allocations and frees of tasks.
pub(crate) trait Tasks {
    /// Whether the caller is a task. If it is, no other thread allocates.
    fn is_task() -> bool;

    /// The freed block of `class` that the next allocation must reuse. `None` if the caller is not
    /// a task, or the search chooses no block for reuse.
    fn reused(class: usize) -> Option<usize>;

    /// A block was allocated.
    fn allocated(allocation: Allocation);

    /// A block is about to be freed, or the free is invalid. `has_objects` states that
    /// synchronization objects may lie in the block. Returns whether the block must not enter the
    /// quarantine, because [`Self::reused`] may return it.
    fn frees(free: Free, has_objects: bool, class: usize) -> bool;

    /// A block with synchronization objects is about to be freed, and no monitor watches frees.
    fn frees_objects(start: usize, size: usize);

    /// A block became another allocation at the same address, for instance by `realloc`. `old` is
    /// the block before this change, and `new` is the block after it.
    fn reallocated(old: Block, new: Block);
}
