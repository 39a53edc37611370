//! The task that the calling thread is, and the execution that it belongs to.

use super::TaskId;
use super::state::{Execution, execution};
use super::task::{State, Task};
use crate::base::memory::{EngineVec, engine_vec};

use core::cell::Cell;

/// The task of this thread-local block plus one; 0 where there is none. A task keeps its block
/// while it runs, so this value distinguishes tasks at no cost. It does not use the `thread_local!`
/// macro, because every shim reads it, also in code that is not optimised.
#[thread_local]
pub(super) static TASK: Cell<u32> = Cell::new(0);

/// Whether the calling thread is a task of a running execution.
#[inline]
pub fn active() -> bool {
    TASK.get() != 0
}

/// The running execution, if the caller is one of its tasks.
///
/// The pointer may be used as a unique reference between two calls of [`perform`]: one task runs at
/// a time, and no other code accesses the execution meanwhile.
#[inline]
pub(crate) fn running() -> Option<*mut Execution> {
    active().then(execution)
}

/// The calling task. Only inside an execution.
#[inline]
pub fn current() -> TaskId {
    TaskId(TASK.get().wrapping_sub(1))
}

/// The tasks that have not ended.
pub(crate) fn unfinished_tasks() -> EngineVec<TaskId> {
    let mut tasks = engine_vec();
    if let Some(execution) = running() {
        // SAFETY: see `running`.
        let execution = unsafe { &*execution };
        let unfinished =
            |(id, task): (TaskId, &Task)| (task.state != State::Finished).then_some(id);
        tasks.extend(execution.live_tasks().filter_map(unfinished));
    }
    tasks
}

/// Makes the calling thread an ordinary one.
pub(super) fn leave() {
    TASK.set(0);
}

/// Makes the calling thread the thread of `task`.
pub(super) fn enter(task: TaskId) {
    TASK.set(task.0 + 1);
}
