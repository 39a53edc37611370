//! The free blocks that may be reused in one execution.

use super::TaskId;
use crate::base::memory::{EngineVec, engine_vec};

/// The blocks that may be reused in one execution.
pub(crate) struct AddressReuse {
    /// Blocks, by their start, with a task that has read a pointer to them.
    pub(super) seen: EngineVec<(usize, TaskId)>,
    /// Free blocks, with their classes.
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
