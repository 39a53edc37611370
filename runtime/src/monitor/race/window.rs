//! A window for each task: a range of epochs all of which it knows of, so that whether it knows
//! of an access is one comparison.
//!
//! What tasks accessed is numbered in the order in which they came to it, so mostly there is
//! nothing in such a range that the task has not heard of: nothing but what others did since
//! they last released something. What it knows of beyond that its clock tells.

use super::Races;
use super::clock::{Epoch, OLD};
use crate::execution::TaskId;

/// So many epochs are looked at to make a window wider.
const FAR: Epoch = 16;
/// No epoch is in it.
pub(super) const NO_WINDOW: (Epoch, Epoch) = (1, 0);

impl Races {
    /// As [`Self::epoch_of`]; further accesses of the epoch may be noted where they are made.
    #[inline]
    pub(super) fn shown_epoch_of(&mut self, task: TaskId) -> Option<Epoch> {
        let epoch = self.epoch_of(task)?;
        let (low, high) = self.tasks.get(task).window;
        if !(low..=high).contains(&epoch) {
            self.open_window(task, epoch);
        }
        Some(epoch)
    }

    /// Makes the window of the running `task` one with its own epoch.
    #[inline(never)]
    fn open_window(&mut self, task: TaskId, epoch: Epoch) {
        if !self.widen(task, epoch) {
            let low = epoch.saturating_sub(FAR).max(self.epochs.first());
            let below = (low..epoch).rev();
            let known = below.take_while(|&epoch| self.is_known(epoch, task));
            let low = known.last().unwrap_or(epoch);
            self.tasks.get_mut(task).window = (low, epoch);
            self.show_now(task);
        }
    }

    /// Makes an epoch that `task` knows of one of its window, if it knows of all between,
    /// and these are few; whether it did.
    pub(super) fn widen(&mut self, task: TaskId, epoch: Epoch) -> bool {
        let (low, high) = self.tasks.get(task).window;
        let (between, window) = if epoch > high {
            (high + 1..epoch, (low, epoch))
        } else {
            (epoch + 1..low, (epoch, high))
        };
        let is_one = (low, high) != NO_WINDOW
            && between.len() < FAR as usize
            && between.into_iter().all(|epoch| self.is_known(epoch, task));
        if is_one {
            self.tasks.get_mut(task).window = window;
            self.show_now(task);
        }
        is_one
    }

    /// Lets accesses of the running `task` be noted where they are made. Not where some may be
    /// scheduling points: none is passed over for being known.
    #[inline]
    pub(super) fn show_now(&mut self, task: TaskId) {
        let own = self.tasks.get(task);
        let (low, high) = own.window;
        let is_open = low <= own.epoch && own.epoch <= high;
        if is_open && self.is_on && !self.points.is_any() {
            // Those of earlier executions are before the first one.
            let low = if low == self.epochs.first() { OLD } else { low };
            self.glance.show(own.epoch, (low, high));
        } else {
            self.glance.hide();
        }
    }
}
