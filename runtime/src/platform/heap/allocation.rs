//! Blocks of the heap, allocations and frees.

/// A block of the program's heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// The number of usable bytes: at least the requested number.
    pub(crate) size: usize,
    /// The address of the first byte that the program requested, and the address after the last
    /// one. For a free block, the bounds of all usable bytes: the requested size is not kept.
    pub(crate) requested: (usize, usize),
    /// The number of its allocation.
    pub(crate) number: u32,
}

/// A block that a task allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allocation {
    pub(crate) block: Block,
    /// Whether the block was free before, and is not a new block at the end of the arena.
    pub(crate) is_reused: bool,
}

/// The memory that a task is about to free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Free {
    /// A live block: the free is valid.
    Live(Block),
    /// A block that is free already.
    Freed(Block),
    /// Memory that was never allocated.
    Unknown(usize),
}
