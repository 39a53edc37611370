//! Stack frames that are dead: their function has returned, or their task has ended.
//!
//! Below the stack pointer of a suspended task, no function of the task keeps data. If a function
//! has returned, and the frame of a later call now lies in the same place, an access there is not
//! recognised as one to a dead frame.

use super::TaskId;
use super::state::Execution;
use super::task::{State, Task};
use crate::platform::stack_pool::pool;

/// A place on the stack of a task, in a frame that no function of the task uses any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeadFrame {
    pub(crate) owner: TaskId,
    /// Whether the task has ended. If not, only the function of the frame has returned.
    pub(crate) has_ended: bool,
}

impl Execution {
    /// The dead frame at `address`. `None` if the frame there may be live, or if `address` is not
    /// on the stack of another task.
    pub(crate) fn dead_frame_at(&self, address: usize) -> Option<DeadFrame> {
        // SAFETY: one thread at a time runs code of the engine, and this borrow ends here.
        let pool = unsafe { &*pool() };
        if !pool.stacks().contains(&address) {
            return None;
        }
        let bounds = |task: &Task| match task.donor {
            Task::NO_DONOR => 0..0,
            donor => pool.get(donor).stack_low..pool.get(donor).stack_top,
        };
        if bounds(self.schedule.tasks.running()).contains(&address) {
            return None;
        }
        let tasks = (0..self.schedule.live as u32).map(TaskId);
        let owner = { tasks }.find(|&task| bounds(self.task(task)).contains(&address))?;
        let task = self.task(owner);
        let has_ended = task.state == State::Finished;
        // If the task was suspended on a stack that the program allocated (for a coroutine), the
        // place of its frames on this stack is not known.
        let is_known = bounds(task).contains(&task.suspended_at);
        let is_dead = has_ended || is_known && address < task.suspended_at;
        is_dead.then_some(DeadFrame { owner, has_ended })
    }
}
