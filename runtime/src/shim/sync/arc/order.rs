//! The memory ordering that the counters of an `Arc` establish. The counters are atomics that the
//! real `Arc` hides.
//!
//! Each operation on a counter is announced to the race detector with the ordering of the real
//! operation. Some operations synchronize by their own ordering: a drop releases; an operation that
//! finds a single owner, `upgrade` and `downgrade` acquire. A clone, and an operation that only reads
//! a counter, synchronize only together with a fence, as any relaxed atomic operation.
//! Tasks run one at a time, so a count that this module reads does not change until the next
//! scheduling point.

use std::mem::align_of_val_raw;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::sync::{Arc, Weak};

use crate::execution::How;
use crate::execution::Op;
use crate::monitor::race;

/// The addresses of the two counters of an `Arc`.
struct Counters {
    /// The address of the number of owners.
    strong: usize,
    /// The address of the number of `Weak`s. All owners together count as one `Weak`.
    weak: usize,
}

impl Counters {
    /// The counters of the value at `data`.
    fn of<T: ?Sized>(data: *const T) -> Counters {
        const SIZE: usize = 2 * size_of::<usize>();
        // SAFETY: the pointer is that of an `Arc`, or of a `Weak` with counters, and its metadata
        // give the alignment of the value.
        let align = unsafe { align_of_val_raw(data) };
        let strong = data.addr().wrapping_sub(SIZE.next_multiple_of(align));
        Counters {
            strong,
            weak: strong.wrapping_add(size_of::<usize>()),
        }
    }

    /// Announces the drop of a `Weak`. If `is_last`, the drop frees the memory.
    fn leave(&self, is_last: bool) {
        race::count(self.weak, (How::Exchange, Release), Op::WeakDrop);
        if is_last {
            race::count(self.weak, (How::Load, Acquire), Op::WeakDrop);
        }
    }
}

/// Announces that `arc` is about to be dropped.
#[inline]
pub(super) fn dropped<T: ?Sized>(arc: &Arc<T>) {
    if race::is_watched() {
        let counters = Counters::of(Arc::as_ptr(arc));
        race::count(counters.strong, (How::Exchange, Release), Op::ArcDrop);
        if Arc::strong_count(arc) == 1 {
            race::count(counters.strong, (How::Load, Acquire), Op::ArcDrop);
            // The destructor of the value runs before the counter of `Weak`s changes.
            race::release_on(counters.weak);
            counters.leave(Arc::weak_count(arc) == 0);
        }
    }
}

/// Announces that a `Weak` is about to be dropped.
#[inline]
pub(super) fn dropped_weak<T: ?Sized>(reference: &Weak<T>) {
    let data = reference.as_ptr();
    if race::is_watched() && has_counters(data) {
        let counters = Counters::of(data);
        // If there are no owners, `weak_count` of the real `Weak` returns 0. So the counter itself
        // is read.
        // SAFETY: a `Weak` keeps the counters alive.
        let count = unsafe { (counters.weak as *const usize).read() };
        counters.leave(reference.strong_count() == 0 && count == 1);
    }
}

/// Announces `Arc::get_mut`. If there is no `Weak`, `get_mut` locks the counter of `Weak`s while
/// it reads the number of owners, so that no task creates a `Weak` in the meantime.
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

/// Announces `Arc::make_mut` by the only owner. If there are `Weak`s, they keep the memory, and
/// `make_mut` moves the value to new memory.
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

/// Announces an operation on the number of owners of the value at `data`. For drops, `get_mut` and
/// `make_mut`, call the functions above instead.
#[inline]
pub(super) fn owners<T: ?Sized>(data: *const T, how: How, order: Ordering) {
    if race::is_watched() && has_counters(data) {
        race::count(Counters::of(data).strong, (how, order), Op::ArcCount);
    }
}

/// Does the same as [`owners`], for an operation on the number of `Weak`s.
#[inline]
pub(super) fn weaks<T: ?Sized>(data: *const T, how: How, order: Ordering) {
    if race::is_watched() && has_counters(data) {
        race::count(Counters::of(data).weak, (how, order), Op::ArcWeakCount);
    }
}

/// Whether `data`, the pointer of an `Arc` or `Weak`, belongs to a value with counters. A result
/// of `Weak::new` has no counters, and its address is `usize::MAX`.
fn has_counters<T: ?Sized>(data: *const T) -> bool {
    data.addr() != usize::MAX
}
