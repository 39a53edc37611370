//! Epochs, the entries of clocks.
//!
//! An epoch is a part of a task's life between two releases (`FastTrack`, Flanagan and Freund,
//! PLDI'09). In programs with fences of all tasks, it is a part between two operations. Epochs are
//! numbered over all tasks and executions. So the number of an epoch alone determines its task, and
//! whether it belongs to this execution. The entry of a task in a clock is the last epoch of this
//! task that happened before the moment of the clock.

use core::ops::RangeInclusive;

use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Op, Site, TaskId};

pub(super) use crate::base::clock::{Clock, Epoch};

/// The meaning of a number: epochs of tasks and records of granules share one sequence of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// An epoch of this task.
    Task {
        task: u32,
        /// The task's entry in clocks.
        entry: u16,
        /// The release that ended the epoch, if the epoch has ended.
        end: Option<Release>,
    },
    /// Not an epoch: the record of a granule, with this index.
    Record(u32),
}

/// The operation that ended an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    pub(super) op: Op,
    /// The line of the release. `None` in drops and opaque code.
    pub(super) site: Option<Site>,
}

/// The epochs of one execution.
pub(super) struct Epochs {
    first: Epoch,
    owners: EngineVec<Owner>,
}

/// If the numbers of epochs exceed this limit, they begin anew in the next execution, and all
/// histories of accesses are forgotten.
pub(super) const LAST: Epoch = 0x3000_0000;
/// An epoch before all epochs of all executions.
pub(super) const OLD: Epoch = 1;
/// The first epoch of all executions.
const FIRST: Epoch = OLD + 1;

/// The maximum number of epochs and records of an execution.
pub(crate) const MOST_EPOCHS: usize = 1 << 22;

impl Epochs {
    pub(super) const fn new() -> Self {
        Self {
            first: FIRST,
            owners: engine_vec(),
        }
    }

    /// Continues as if earlier executions had used all numbers below `first`.
    #[cfg(test)]
    pub(super) fn begin_at(&mut self, first: Epoch) {
        self.first = first;
    }

    /// Begins a new execution. Returns whether the numbers begin anew.
    pub(super) fn begin(&mut self) -> bool {
        self.first += self.owners.len() as u32;
        self.owners.clear();
        let is_full = self.first > LAST;
        if is_full {
            self.first = FIRST;
        }
        is_full
    }

    /// The first number of this execution. Lower numbers belong to earlier executions.
    #[inline]
    pub(super) fn first(&self) -> Epoch {
        self.first
    }

    #[inline]
    pub(super) fn add(&mut self, owner: Owner) -> Epoch {
        self.owners.push(owner);
        self.first + (self.owners.len() - 1) as u32
    }

    /// Whether there is no room for another epoch.
    #[inline]
    pub(super) fn are_all_used(&self) -> bool {
        self.owners.len() >= MOST_EPOCHS
    }

    /// The meaning of a number of this execution.
    #[inline]
    pub(super) fn owner(&self, number: Epoch) -> Owner {
        self.owners[(number - self.first) as usize]
    }

    /// Records that this release ends those of the `epochs` that belong to `task`.
    pub(super) fn end(&mut self, epochs: RangeInclusive<Epoch>, task: TaskId, release: Release) {
        for epoch in epochs {
            if let Owner::Task {
                task: owner, end, ..
            } = &mut self.owners[(epoch - self.first) as usize]
                && *owner == task.0
            {
                *end = Some(release);
            }
        }
    }
}
