//! The role of the calling thread: a task, or the condition of an invariant.

use super::TaskId;

use core::cell::Cell;

/// The task of this thread-local block plus one; 0 where there is none. A task keeps its block
/// while it runs, so this value distinguishes tasks at no cost. It does not use the `thread_local!`
/// macro, because every shim reads it, also in code that is not optimised.
#[thread_local]
pub(super) static TASK: Cell<u32> = Cell::new(0);

/// Whether this thread runs a condition. It is no task meanwhile.
#[thread_local]
pub(super) static CHECKS: Cell<bool> = Cell::new(false);

/// Whether the calling thread is a task of a running execution.
#[inline]
pub fn active() -> bool {
    TASK.get() != 0
}

/// Whether the calling thread runs a condition.
#[inline]
pub fn checks() -> bool {
    CHECKS.get()
}

/// The calling task. Only inside an execution.
#[inline]
pub fn current() -> TaskId {
    TaskId(TASK.get().wrapping_sub(1))
}

/// Makes the calling thread an ordinary one.
pub(super) fn leave() {
    TASK.set(0);
}

/// Makes the calling thread the thread of `task`.
pub(super) fn enter(task: TaskId) {
    TASK.set(task.0 + 1);
}
