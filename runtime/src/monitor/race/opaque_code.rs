//! The order that opaque code (code that the engine does not see) creates between the tasks that
//! run it or use the same atomics.
//!
//! Every order that opaque code can create counts as created. If an order were missing here, the
//! monitor would report a race that the program does not have, or offer an older store that the
//! task cannot read.

use super::Races;
use super::unseen::UNSEEN;
use crate::execution::TaskId;
use crate::memory::Word;

impl Races {
    /// Records that `task` is in opaque code, where the task may acquire releases that the monitor
    /// does not see. Another task may make such a release even after its call of opaque code, for
    /// example by the drop of a guard that the call returned. Therefore each task that has called
    /// opaque code releases all its operations to [`UNSEEN`] whenever another task runs next, and
    /// `task` acquires [`UNSEEN`] here. Opaque code may also load the program's atomics. Therefore
    /// `task` also acquires all operations that other tasks have released to any object.
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
            if of_other.last != of_other.ended {
                released.set(of_other.entry, of_other.ended);
            }
            self.tasks.get_mut(task).clock.join(released);
        }
        self.acquire(task, UNSEEN, true);
        self.tasks.get_mut(task).is_unseen = true;
    }

    /// Records that `task` continues, perhaps in opaque code. If the task has called opaque code
    /// before, the task acquires all operations that were released to [`UNSEEN`].
    pub(crate) fn resume_unseen(&mut self, task: TaskId) {
        if self.tasks.get(task).is_unseen {
            self.acquire(task, UNSEEN, true);
        }
    }

    /// Whether opaque code has run in this execution. Then the values of atomics must be reported.
    #[inline]
    pub(crate) fn has_unseen(&self) -> bool {
        self.unseen.has_run
    }

    /// Records that the next reported operation reads `value` from the atomic at `address`. If the
    /// program's last operation on this atomic left another value, opaque code may have stored
    /// `value`, and may have released its operations by this store.
    pub(crate) fn meet_value(&mut self, address: usize, value: Word) {
        self.unseen.has_written = !self.unseen.keep(address, value);
    }

    /// Records that the last operation of the program left `value` in the atomic at `address`.
    pub(crate) fn leave_value(&mut self, address: usize, value: Word) {
        self.unseen.keep(address, value);
    }
}
