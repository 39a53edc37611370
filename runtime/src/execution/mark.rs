//! Marks. A mark states that `preempt` code has control again, after a call into `atomic` code.
//!
//! The engine sees operations, not calls, so it cannot detect the return of a call. Rewritten
//! `preempt` code therefore marks each of its statements: two consecutive calls are two steps. A
//! mark stores to two thread-locals, and is no scheduling point.

use super::terms::{NO_LINE, Site};

use core::cell::Cell;

/// Whether the calling task is in `atomic` code. It is thread-local, and so separate for each
/// task: a mark needs no access to the engine.
#[thread_local]
static INSIDE: Cell<bool> = Cell::new(false);

/// The line of the newest mark, and the depth of the stack there.
#[thread_local]
static LINE: Cell<Option<(Site, usize)>> = Cell::new(None);

/// Records that the calling thread is in `preempt` code, at `line`.
#[inline]
pub fn mark(line: Site) {
    INSIDE.set(false);
    LINE.set(Some((line, depth())));
}

/// The line of `preempt` code that called the current function, directly or not. `None` if it is
/// not known.
pub fn marked_line() -> Option<Site> {
    // If the stack is less deep than at the mark, the function with the mark has returned.
    LINE.get()
        .filter(|mark| depth() < mark.1)
        .map(|mark| mark.0)
}

/// As [`marked_line`], or [`NO_LINE`].
pub(super) fn line_if_known() -> Site {
    marked_line().unwrap_or(NO_LINE)
}

/// The marks of a thread that [`put_aside`] saved.
pub(super) struct Marks(bool, Option<(Site, usize)>);

/// Saves the marks of the calling thread, for [`restore`].
pub(super) fn put_aside() -> Marks {
    Marks(INSIDE.get(), LINE.get())
}

/// Restores the marks that [`put_aside`] saved.
pub(super) fn restore(marks: &Marks) {
    INSIDE.set(marks.0);
    LINE.set(marks.1);
}

/// The depth of the stack, as an address. The stack grows towards lower addresses.
#[inline]
fn depth() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// Records that the calling thread has left `atomic` code.
#[inline]
pub(crate) fn leave() {
    INSIDE.set(false);
}

/// Records that the calling thread enters `atomic` code. Returns whether it was there already.
#[inline]
pub(crate) fn enter() -> bool {
    INSIDE.replace(true)
}

/// Whether the calling thread is in `atomic` code.
#[inline]
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}
