//! Whether the calling task is within a call into `atomic` code, and the mark with
//! which `preempt` code says that it has control again.
//!
//! The engine sees operations, not calls, so it cannot see that a call has
//! returned. Rewritten `preempt` code therefore marks each of its statements: two
//! calls in a row are two steps. A mark is one store, and no scheduling point.

use core::cell::Cell;

/// Thread-local, and so a task's own: a mark needs no look at the engine.
#[thread_local]
static INSIDE: Cell<bool> = Cell::new(false);

/// The calling thread is in `preempt` code.
#[inline]
pub fn mark() {
    INSIDE.set(false);
}

/// The calling thread enters `atomic` code; whether it was there already.
#[inline]
pub(crate) fn enter() -> bool {
    INSIDE.replace(true)
}

/// Whether the calling thread is in `atomic` code.
#[inline]
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}
