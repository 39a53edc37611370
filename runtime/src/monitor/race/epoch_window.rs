//! A window for each task: a range of epochs that the task knows completely, so that one comparison
//! determines whether the task knows of an access.
//!
//! Epochs are numbered in the order in which they begin. Of the recent epochs, a task usually knows
//! all except the current epochs of the other tasks, so that such a range is long. The task's clock
//! also contains the epochs that the task knows outside of the range. Epochs end in `tasks.rs`.

use super::Races;
use super::clock::Epoch;
use super::task_order::NO_WINDOW;
use crate::execution::TaskId;

/// The maximum number of epochs that are checked to widen the window of a task (a range of epochs
/// that the task knows).
const FAR: Epoch = 16;
impl Races {
    /// As [`Self::epoch_of`]. Also makes the fast path record further accesses of this epoch, if
    /// that is possible.
    #[inline]
    pub(super) fn shown_epoch_of(&mut self, task: TaskId) -> Option<Epoch> {
        let epoch = self.epoch_of(task)?;
        let (low, high) = self.tasks.get(task).window;
        if !(low..=high).contains(&epoch) {
            self.open_window(task, epoch);
        }
        Some(epoch)
    }

    /// Sets the window of the running `task` to a window that contains the task's own `epoch`.
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

    /// Extends the window of `task` to `epoch`, an epoch that the task knows. Does nothing unless
    /// the task knows all epochs between the window and `epoch`, and there are fewer than [`FAR`]
    /// of them. Returns whether the window was extended.
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

    /// Enables the fast path for the running `task`, if the task's window contains its current
    /// epoch. Disables the fast path if not, or if accesses may be scheduling points or events,
    /// because the fast path would skip these.
    #[inline]
    pub(super) fn show_now(&mut self, task: TaskId) {
        let own = self.tasks.get(task);
        let (low, high) = own.window;
        let is_open = low <= own.epoch && own.epoch <= high;
        if is_open && self.is_on && !self.points.is_any() {
            let first = self.epochs.first();
            self.fast_path.show(own.epoch, (low, high), first);
        } else {
            self.fast_path.hide();
        }
    }
}
