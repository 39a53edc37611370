//! The role of the calling thread: a task, or the condition of an invariant.

use super::TaskId;

use core::cell::Cell;

/// The number of the calling task plus one; 0 if the thread is no task. Each task has its own
/// thread-local block, so a switch between tasks need not set this value. The static does not use
/// the `thread_local!` macro: every shim reads the static, and the function calls of the macro
/// would be slow in code that is not optimised.
#[thread_local]
pub(super) static TASK: Cell<u32> = Cell::new(0);

/// Whether this thread runs the condition of an invariant. While it does, the thread is no task.
#[thread_local]
pub(super) static CHECKS: Cell<bool> = Cell::new(false);

/// Whether the calling thread is a task of a running execution.
// Shims are generic, so they are compiled with the user's crates, usually without optimisation.
// There, a call of compiled code is faster than the calls in an inlined body.
#[inline(never)]
pub fn active() -> bool {
    is_task()
}

/// As [`active`], for code of the engine.
#[inline]
pub(super) fn is_task() -> bool {
    TASK.get() != 0
}

/// Whether the calling thread runs the condition of an invariant.
#[inline]
pub fn checks() -> bool {
    CHECKS.get()
}

/// The calling task. Must only be called by a task.
#[inline]
pub fn current() -> TaskId {
    TaskId(TASK.get().wrapping_sub(1))
}

/// Records that the calling thread is no task any more.
pub(super) fn leave() {
    TASK.set(0);
}

/// Makes the calling thread the thread of `task`.
pub(super) fn enter(task: TaskId) {
    TASK.set(task.0 + 1);
}
