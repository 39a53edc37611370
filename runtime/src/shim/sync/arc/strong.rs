//! `Arc` and its methods.

use std::any::Any;
use std::clone::CloneToUninit;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::{Weak, counters, order};
use crate::execution::How;
use crate::execution::{self, Effect, Op};
use crate::monitor::race;
use crate::platform::observers::observes_counters;

/// See [`std::sync::Arc`].
#[repr(transparent)]
pub struct Arc<T: ?Sized>(pub(super) std::sync::Arc<T>);

impl<T> Arc<T> {
    #[inline]
    pub fn new(data: T) -> Arc<T> {
        Arc(std::sync::Arc::new(data))
    }

    #[inline]
    pub fn new_cyclic<F>(data_fn: F) -> Arc<T>
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        Arc(std::sync::Arc::new_cyclic(|weak| {
            data_fn(Weak::from_real_ref(weak))
        }))
    }

    #[inline]
    #[must_use]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc(std::sync::Arc::new_uninit())
    }

    #[inline]
    #[must_use]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc(std::sync::Arc::new_zeroed())
    }

    #[must_use]
    pub fn pin(data: T) -> Pin<Arc<T>> {
        // SAFETY: the target of an `Arc` moves only by a `&mut` to it, and a pinned `Arc` gives
        // none unless the value is `Unpin`.
        unsafe { Pin::new_unchecked(Arc::new(data)) }
    }

    #[inline]
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcTryUnwrap, this.object(), Location::caller());
        }
        if Arc::is_only(&this) {
            order::dropped(&this.0);
        } else {
            order::owners(Arc::as_ptr(&this), How::Load, Relaxed);
        }
        std::sync::Arc::try_unwrap(this.into_real()).map_err(Arc)
    }

    #[inline]
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcTryUnwrap, this.object(), Location::caller());
        }
        order::dropped(&this.0);
        std::sync::Arc::into_inner(this.into_real())
    }
}

impl<T: Clone> Arc<T> {
    #[inline]
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T {
        Arc::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T> Arc<[T]> {
    #[inline]
    #[must_use]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc(std::sync::Arc::new_uninit_slice(len))
    }

    #[inline]
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc(std::sync::Arc::new_zeroed_slice(len))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    #[inline]
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller upholds the requirements of the real method.
        Arc(unsafe { self.into_real().assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    #[inline]
    #[must_use = "`self` will be dropped if the result is not used"]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller upholds the requirements of the real method.
        Arc(unsafe { self.into_real().assume_init() })
    }
}

impl<T: ?Sized> Arc<T> {
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller upholds the requirements of the real function.
        Arc(unsafe { std::sync::Arc::from_raw(ptr) })
    }

    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        std::sync::Arc::into_raw(this.into_real())
    }

    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        std::sync::Arc::as_ptr(&this.0)
    }

    #[inline]
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        if execution::counters_matter() {
            execution::access(Op::ArcClone, counters(ptr), Location::caller());
        }
        order::owners(ptr, How::Exchange, Relaxed);
        // SAFETY: the caller upholds the requirements of the real function.
        unsafe { std::sync::Arc::increment_strong_count(ptr) }
    }

    #[inline]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller upholds the requirements of the real function, so that this `Arc` may
        // be dropped.
        drop(unsafe { Arc::from_raw(ptr) });
    }

    #[inline]
    #[track_caller]
    #[must_use = "this returns a new `Weak` pointer, \
                  without modifying the original `Arc`"]
    pub fn downgrade(this: &Self) -> Weak<T> {
        if execution::counters_matter() {
            execution::access(Op::ArcDowngrade, this.object(), Location::caller());
        }
        order::weaks(Arc::as_ptr(this), How::Exchange, Acquire);
        Weak(std::sync::Arc::downgrade(&this.0))
    }

    #[inline]
    #[track_caller]
    #[must_use]
    pub fn weak_count(this: &Self) -> usize {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcWeakCount, this.object(), Location::caller());
        }
        order::weaks(Arc::as_ptr(this), How::Load, Relaxed);
        std::sync::Arc::weak_count(&this.0)
    }

    #[inline]
    #[track_caller]
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcCount, this.object(), Location::caller());
        }
        order::owners(Arc::as_ptr(this), How::Load, Relaxed);
        std::sync::Arc::strong_count(&this.0)
    }

    #[inline]
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&this.0, &other.0)
    }

    #[inline]
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcGetMut, this.object(), Location::caller());
        }
        order::is_asked_to_be_only(&this.0);
        std::sync::Arc::get_mut(&mut this.0)
    }

    pub(super) fn object(&self) -> usize {
        counters(Arc::as_ptr(self))
    }

    fn is_only(this: &Self) -> bool {
        std::sync::Arc::strong_count(&this.0) == 1
    }

    /// The effect of the drop of this owner. Drops of owners commute with each other, except for
    /// the drop of the last owner, which runs the value's destructor.
    fn drop_effect(&self) -> Effect {
        if std::sync::Arc::strong_count(&self.0) == 1 {
            Effect::Write
        } else {
            Effect::Update
        }
    }

    /// Turns the shim into the real `Arc`. This is no drop of an owner.
    #[inline]
    pub(super) fn into_real(self) -> std::sync::Arc<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        unsafe { std::ptr::read(&raw const this.0) }
    }
}

impl<T: ?Sized + CloneToUninit> Arc<T> {
    #[inline]
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        observes_counters();
        if execution::active() {
            execution::access(Op::ArcMakeMut, this.object(), Location::caller());
        }
        if Arc::is_only(this) {
            order::made_mut(&this.0);
        } else {
            order::owners(Arc::as_ptr(this), How::Load, Relaxed);
            // As the real `make_mut`, but the shim drops the original, with a scheduling point.
            *this = Arc(std::sync::Arc::clone_from_ref(&**this));
        }
        // The real `make_mut` may move the value. The race detector does not watch this call,
        // because the ordering of the call was announced above.
        race::unwatched(|| std::sync::Arc::make_mut(&mut this.0))
    }
}

impl Arc<dyn Any + Send + Sync> {
    #[inline]
    pub fn downcast<T>(self) -> Result<Arc<T>, Self>
    where
        T: Any + Send + Sync,
    {
        self.into_real().downcast().map(Arc).map_err(Arc)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        if execution::counters_matter() {
            execution::access(Op::ArcClone, self.object(), Location::caller());
        }
        order::owners(Arc::as_ptr(self), How::Exchange, Relaxed);
        Arc(self.0.clone())
    }
}

// SAFETY: this drop does not inspect the value; the real `Arc` inside, dropped next, itself
// declares that it owns a `T`.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() {
            if execution::active() {
                execution::drop_with(Op::ArcDrop, self.object(), || self.drop_effect());
            }
        } else if execution::counters_matter() {
            execution::access_in_drop(Op::ArcLeave, self.object());
        }
        order::dropped(&self.0);
    }
}
