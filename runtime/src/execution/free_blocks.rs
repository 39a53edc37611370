//! The free blocks that may be reused in one execution.

use super::TaskId;
use crate::base::memory::{EngineVec, engine_vec};

/// The blocks that may be reused in one execution.
pub(crate) struct AddressReuse {
    /// The starts of blocks, each with a task that has read a pointer to the block.
    pub(super) seen: EngineVec<(usize, TaskId)>,
    /// Free blocks, by their start, each with its size class.
    pub(super) kept: EngineVec<(usize, usize)>,
}

impl AddressReuse {
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
