//! The ends of FIFOs that the tasks of one execution have opened.

use super::inode::Inode;
use crate::base::memory::{EngineVec, engine_vec};

/// One end of a FIFO.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Reading,
    Writing,
}

impl End {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Reading => Self::Writing,
            Self::Writing => Self::Reading,
        }
    }
}

/// The number of times that the tasks of one execution have opened each end of each FIFO.
pub(super) struct FifoEnds(EngineVec<(Inode, [u32; 2])>);

impl FifoEnds {
    pub(super) const fn new() -> Self {
        Self(engine_vec())
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of times that tasks have opened `end` of `fifo`.
    pub(super) fn opens(&mut self, fifo: Inode, end: End) -> &mut u32 {
        let known = self.0.iter().position(|(inode, _)| inode.is(fifo));
        let place = known.unwrap_or_else(|| {
            self.0.push((fifo, [0; 2]));
            self.0.len() - 1
        });
        &mut self.0[place].1[end as usize]
    }
}
