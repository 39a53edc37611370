//! What the counters of an `Arc` order: they are atomics that the real one hides.
//!
//! Each operation on them is told with the ordering that the real one has. Mostly that is
//! all who gives up an owner releases, and who finds itself the last one acquires; but who
//! only looks at a counter, or makes a new owner, may have a fence after or before it that
//! orders, as around any atomic. Tasks run one at a time, so a count is what it is until the
//! next scheduling point.

use std::mem::align_of_val_raw;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::sync::{Arc, Weak};

use crate::execution::How;
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
        race::count(self.weak, (How::Exchange, Release), Op::WeakDrop);
        if is_last {
            race::count(self.weak, (How::Load, Acquire), Op::WeakDrop);
        }
    }
}

/// `arc` is about to be dropped.
#[inline]
pub(super) fn dropped<T: ?Sized>(arc: &Arc<T>) {
    if race::is_watched() {
        let counters = Counters::of(Arc::as_ptr(arc));
        race::count(counters.strong, (How::Exchange, Release), Op::ArcDrop);
        if Arc::strong_count(arc) == 1 {
            race::count(counters.strong, (How::Load, Acquire), Op::ArcDrop);
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
    if race::is_watched() && has_counters(data) {
        let counters = Counters::of(data);
        // The real one does not say how many are left where no owner is.
        // SAFETY: a `Weak` keeps the counters.
        let count = unsafe { (counters.weak as *const usize).read() };
        counters.leave(reference.strong_count() == 0 && count == 1);
    }
}

/// `Arc::get_mut`: where there is no `Weak` it keeps others from making one while it looks
/// at the owners.
#[inline]
pub(super) fn is_asked_to_be_only<T: ?Sized>(arc: &Arc<T>) {
    if race::is_watched() {
        let counters = Counters::of(Arc::as_ptr(arc));
        if Arc::weak_count(arc) == 0 {
            race::count(counters.weak, (How::Exchange, Acquire), Op::ArcGetMut);
            race::count(counters.strong, (How::Load, Acquire), Op::ArcGetMut);
            race::count(counters.weak, (How::Store, Release), Op::ArcGetMut);
        } else {
            race::count(counters.weak, (How::Load, Relaxed), Op::ArcGetMut);
        }
    }
}

/// `Arc::make_mut` of the only owner, that leaves the memory to the `Weak`s that there are.
#[inline]
pub(super) fn made_mut<T: ?Sized>(arc: &Arc<T>) {
    if race::is_watched() {
        let counters = Counters::of(Arc::as_ptr(arc));
        race::count(counters.strong, (How::Exchange, Acquire), Op::ArcMakeMut);
        if Arc::weak_count(arc) == 0 {
            race::count(counters.strong, (How::Store, Release), Op::ArcMakeMut);
        } else {
            counters.leave(false);
        }
    }
}

/// Any other operation on the number of owners of the value at `data`.
#[inline]
pub(super) fn owners<T: ?Sized>(data: *const T, how: How, order: Ordering) {
    if race::is_watched() && has_counters(data) {
        race::count(Counters::of(data).strong, (how, order), Op::ArcCount);
    }
}

/// Any other operation on the number of `Weak`s.
#[inline]
pub(super) fn weaks<T: ?Sized>(data: *const T, how: How, order: Ordering) {
    if race::is_watched() && has_counters(data) {
        race::count(Counters::of(data).weak, (how, order), Op::ArcWeakCount);
    }
}

/// What `Weak::new` makes has none, and this address.
fn has_counters<T: ?Sized>(data: *const T) -> bool {
    data.addr() != usize::MAX
}
