//! What the counters of an `Arc` order: they are atomics that the real one hides.
//!
//! Giving up an owner releases, and whoever finds itself the last one, or makes a new
//! owner of a `Weak`, acquires. Tasks run one at a time, so a count is what it is until
//! the next scheduling point. Clones order nothing.

use std::mem::align_of_val_raw;
use std::sync::{Arc, Weak};

use crate::execution::Op;
use crate::monitor::race;

/// The counters: of owners, and of `Weak`s, of which the owners have one together.
struct Counters {
    strong: usize,
    weak: usize,
}

impl Counters {
    /// Those of the value at `data`.
    fn of<T: ?Sized>(data: *const T) -> Counters {
        const SIZE: usize = 2 * size_of::<usize>();
        // SAFETY: the pointer is that of an `Arc` or of a `Weak` that has counters, and
        // says how its value is aligned.
        let align = unsafe { align_of_val_raw(data) };
        let strong = data.addr().wrapping_sub(SIZE.next_multiple_of(align));
        Counters {
            strong,
            weak: strong.wrapping_add(size_of::<usize>()),
        }
    }

    /// A `Weak` is given up; the last one gives up the memory.
    fn leave(&self, is_last: bool) {
        race::release(self.weak, Op::WeakDrop, None);
        if is_last {
            race::acquire(self.weak);
        }
    }
}

/// `arc` is about to be dropped.
#[inline]
pub(super) fn dropped<T: ?Sized>(arc: &Arc<T>) {
    if race::is_watched() {
        let counters = Counters::of(Arc::as_ptr(arc));
        race::release(counters.strong, Op::ArcDrop, None);
        if Arc::strong_count(arc) == 1 {
            race::acquire(counters.strong);
            // The value's destructor comes first.
            race::release_on(counters.weak);
            counters.leave(Arc::weak_count(arc) == 0);
        }
    }
}

/// A `Weak` is about to be dropped.
#[inline]
pub(super) fn dropped_weak<T: ?Sized>(reference: &Weak<T>) {
    let data = reference.as_ptr();
    if race::is_watched() && data.addr() != usize::MAX {
        let counters = Counters::of(data);
        // The real one does not say how many are left where no owner is.
        // SAFETY: a `Weak` keeps the counters.
        let count = unsafe { (counters.weak as *const usize).read() };
        counters.leave(reference.strong_count() == 0 && count == 1);
    }
}

/// The task has found that it has the only owner, or has made a new one of a `Weak`.
#[inline]
pub(super) fn owned<T: ?Sized>(data: *const T) {
    if race::is_watched() {
        race::acquire(Counters::of(data).strong);
    }
}
