//! Memory errors: what is freed twice, or was never allocated.

use core::ops::ControlFlow;

use super::{End, Failure, Kind, Monitor};
use crate::execution::{Ending, Execution};

/// A block of the program's heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// How many bytes may be used there.
    pub(crate) size: usize,
}

/// What a task is about to free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Free {
    /// A block, as it should be.
    Live(Block),
    /// A block that is free already.
    Freed(Block),
    /// What was never handed out.
    Unknown(usize),
}

/// Judges what is freed.
pub(crate) struct Heap {
    error: Option<Free>,
}

impl Heap {
    pub(super) const fn new() -> Self {
        Self { error: None }
    }
}

impl Monitor for Heap {
    #[inline]
    fn begin(&mut self) {
        self.error = None;
    }

    #[inline]
    fn frees(&mut self, _: &Execution, free: Free) -> ControlFlow<()> {
        if let Free::Live(_) = free {
            return ControlFlow::Continue(());
        }
        self.error = Some(free);
        ControlFlow::Break(())
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        if end.execution.ending != Ending::Stopped {
            return None;
        }
        self.error.map(|error| match error {
            Free::Live(_) | Free::Freed(_) => {
                Failure::new(Kind::DoubleFree, "a block of memory was freed twice")
            }
            Free::Unknown(_) => {
                Failure::new(Kind::Crash, "memory was freed that was never allocated")
            }
        })
    }
}
