//! Vector clocks over epochs.

use super::memory::{EngineVec, engine_vec};

/// Identifies a part of a task's life; 0 identifies none. Later parts have larger numbers.
pub(crate) type Epoch = u32;

/// A vector clock, which stands for a moment. The entry of each task has the last epoch of this
/// task that happened before this moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clock(EngineVec<Epoch>);

impl Clock {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    #[inline]
    pub(crate) fn get(&self, entry: u16) -> Epoch {
        self.0.get(entry as usize).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, entry: u16, epoch: Epoch) {
        let place = entry as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, 0);
        }
        self.0[place] = epoch;
    }

    /// Sets each entry to the later one of the two clocks.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(other);
        }
    }

    /// Whether no entry of `other` is later than the same entry of this clock.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        (0..)
            .zip(&other.0)
            .all(|(entry, &epoch)| epoch <= self.get(entry))
    }

    pub(crate) fn assign(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
