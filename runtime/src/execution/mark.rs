//! Whether the calling task is within a call into `atomic` code, and the mark with
//! which `preempt` code says that it has control again.
//!
//! The engine sees operations, not calls, so it cannot see that a call has
//! returned. Rewritten `preempt` code therefore marks each of its statements: two
//! calls in a row are two steps. A mark is one store, and no scheduling point.

use core::cell::Cell;

use super::Site;

/// Thread-local, and so a task's own: a mark needs no look at the engine.
#[thread_local]
static INSIDE: Cell<bool> = Cell::new(false);

/// The line of the newest mark, and how deep the stack was there.
#[thread_local]
static LINE: Cell<Option<(Site, usize)>> = Cell::new(None);

/// The calling thread is in `preempt` code, at `line`.
#[inline]
pub fn mark(line: Site) {
    INSIDE.set(false);
    LINE.set(Some((line, depth())));
}

/// The line of `preempt` code from which the calling thread came to where it is.
pub fn marked_line() -> Option<Site> {
    // A stack less deep has left the function that marked its line.
    LINE.get()
        .filter(|mark| depth() < mark.1)
        .map(|mark| mark.0)
}

/// The stack grows towards lower addresses.
#[inline]
fn depth() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// The calling thread is no more in `atomic` code.
#[inline]
pub(crate) fn leave() {
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
