//! The order of the tasks that run opaque code, among themselves and through the program's atomics.
//!
//! All that opaque code can order counts as ordered: an order that is missing here would be a race
//! that the program does not have, or an older store that no machine lets a task read.

use super::Races;
use super::unseen::UNSEEN;
use crate::execution::TaskId;
use crate::memory::Word;

impl Races {
    /// Records that `task` is in opaque code, where it may acquire releases of other tasks. The
    /// release itself is not seen: a guard of opaque code may be dropped in the user's code.
    /// Therefore each task that has been in opaque code releases all its operations there whenever
    /// another task runs. Opaque code may also load the program's atomics, and so acquires all that
    /// other tasks have released.
    pub(crate) fn enter_unseen(&mut self, task: TaskId) {
        self.memory.stale.note_unseen();
        self.unseen.has_run = true;
        for other in (0..self.tasks.live as u32).map(TaskId) {
            if other == task {
                continue;
            }
            let released = &mut self.unseen.clock;
            let of_other = self.tasks.get(other);
            released.assign(&of_other.clock);
            if of_other.epoch != 0 {
                released.set(of_other.entry, of_other.ended);
            }
            self.tasks.get_mut(task).clock.join(released);
        }
        self.acquire(task, UNSEEN, true);
        self.tasks.get_mut(task).is_unseen = true;
    }

    /// Records that `task` continues, perhaps in opaque code: it acquires what tasks have released
    /// there, if it has been there.
    pub(crate) fn resume_unseen(&mut self, task: TaskId) {
        if self.tasks.get(task).is_unseen {
            self.acquire(task, UNSEEN, true);
        }
    }

    /// Whether opaque code has run in this execution, so that the values of atomics must be reported.
    #[inline]
    pub(crate) fn has_unseen(&self) -> bool {
        self.unseen.has_run
    }

    /// Records that the next reported operation reads this value of the atomic at `address`. If the
    /// program has not stored it, opaque code may have released it.
    pub(crate) fn meet_value(&mut self, address: usize, value: Word) {
        self.unseen.has_written = !self.unseen.keep(address, value);
    }

    /// Records that the last operation left this value in the atomic at `address`.
    pub(crate) fn leave_value(&mut self, address: usize, value: Word) {
        self.unseen.keep(address, value);
    }
}
