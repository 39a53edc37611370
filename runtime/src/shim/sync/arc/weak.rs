//! `Weak`.

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::{Arc, counters, order};
use crate::execution::How;
use crate::execution::{self, Op};
use crate::platform::observers::observes_counters;

/// See [`std::sync::Weak`].
#[repr(transparent)]
pub struct Weak<T: ?Sized>(pub(super) std::sync::Weak<T>);

impl<T> Weak<T> {
    #[inline]
    #[must_use]
    pub const fn new() -> Weak<T> {
        Weak(std::sync::Weak::new())
    }
}

impl<T: ?Sized> Weak<T> {
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller upholds the requirements of the real function.
        Weak(unsafe { std::sync::Weak::from_raw(ptr) })
    }

    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        unsafe { std::ptr::read(&raw const this.0) }.into_raw()
    }

    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }

    #[inline]
    #[track_caller]
    #[must_use = "this returns a new `Arc`, \
                  without modifying the original weak pointer"]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        observes_counters();
        if let Some(object) = self.seen() {
            execution::access(Op::WeakUpgrade, object, Location::caller());
        }
        let upgraded = self.0.upgrade().map(Arc);
        let (how, order) = if upgraded.is_some() {
            (How::Exchange, Acquire)
        } else {
            (How::Load, Relaxed)
        };
        order::owners(self.as_ptr(), how, order);
        upgraded
    }

    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        observes_counters();
        if let Some(object) = self.seen() {
            execution::access(Op::ArcCount, object, Location::caller());
        }
        order::owners(self.as_ptr(), How::Load, Relaxed);
        self.0.strong_count()
    }

    #[track_caller]
    #[must_use]
    pub fn weak_count(&self) -> usize {
        observes_counters();
        if let Some(object) = self.seen() {
            execution::access(Op::ArcWeakCount, object, Location::caller());
        }
        order::weaks(self.as_ptr(), How::Load, Relaxed);
        order::owners(self.as_ptr(), How::Load, Relaxed);
        self.0.weak_count()
    }

    #[inline]
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    pub(super) fn from_real_ref(real: &std::sync::Weak<T>) -> &Weak<T> {
        // SAFETY: `Weak` is transparent over the real one.
        unsafe { &*(&raw const *real).cast() }
    }

    /// The number by which the engine identifies the counters. `None` if operations on counters
    /// are no events ([`execution::counters_matter`]), or if this is a result of `Weak::new`. Such
    /// a `Weak` has no counters, and its address is `usize::MAX`.
    #[inline]
    fn seen(&self) -> Option<usize> {
        let data = self.0.as_ptr();
        (execution::counters_matter() && data.addr() != usize::MAX).then(|| counters(data))
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        if let Some(object) = self.seen() {
            execution::access(Op::WeakClone, object, Location::caller());
        }
        order::weaks(self.as_ptr(), How::Exchange, Relaxed);
        Weak(self.0.clone())
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: this drop does not inspect the value; the real `Weak` inside itself declares that it does
// not own it.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(object) = self.seen() {
            execution::access_in_drop(Op::WeakDrop, object);
        }
        order::dropped_weak(&self.0);
    }
}
