//! `Mutex` and its guard. The macro `lock!` in `lock.rs` defines the methods that `RwLock` also has.
//!
//! The only field of the guard is the real guard, so the sizes are equal. The mutex of a guard is
//! found by the address of the value.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::lock;
use crate::execution::{self, Mode, Op, Site};

/// See [`std::sync::Mutex`].
#[repr(transparent)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

/// See [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
#[repr(transparent)]
pub struct MutexGuard<'a, T: ?Sized + 'a>(ManuallyDrop<std::sync::MutexGuard<'a, T>>);

/// The number of bytes of a mutex before its value, for a value with the alignment 1.
const HEADER: usize = lock::header!(Mutex);

lock::lock!(Mutex);

// Not in the macro, because messages of the compiler about wrong arguments would name the macro.
impl<T> Mutex<T> {
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(t))
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if execution::active() {
            self.take(Op::MutexLock, Location::caller())
        } else {
            execution::condition_locks(self.object(), Mode::Exclusive);
            lock::map(self.0.lock(), |real| self.guard(real))
        }
    }

    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let result = if execution::active() {
            let (object, site) = (self.object(), Location::caller());
            let attempt = || self.0.try_lock();
            lock::try_take(Op::MutexTryLock, object, Mode::Exclusive, site, attempt)
        } else {
            execution::condition_locks(self.object(), Mode::Exclusive);
            self.0.try_lock()
        };
        lock::map_try(result, |real| self.guard(real))
    }

    /// Locks inside an execution.
    #[inline]
    pub(super) fn take(&self, op: Op, site: Site) -> LockResult<MutexGuard<'_, T>> {
        let attempt = || self.0.try_lock();
        let result = lock::take(op, self.object(), Mode::Exclusive, site, attempt);
        lock::map(result, |real| self.guard(real))
    }

    #[inline]
    fn guard<'a>(&'a self, real: std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        // `MutexGuard::mutex` recovers the pointer.
        (&raw const self.0).expose_provenance();
        MutexGuard::of_real(real)
    }

    /// Drops the real guard, but does not poison the mutex, even while the thread unwinds. The
    /// real `Condvar::wait` does not poison its mutex either.
    pub(super) fn unlock_to_wait(&self, real: std::sync::MutexGuard<'_, T>) {
        let poisoned = self.0.is_poisoned();
        drop(real);
        if !poisoned {
            self.0.clear_poison();
        }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn into_real(self) -> std::sync::MutexGuard<'a, T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// Returns the mutex that the guard keeps locked.
    #[inline]
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        // SAFETY: at this address is the mutex that the real guard borrows for `'a`. `guard` has
        // exposed a pointer to it.
        unsafe { &*std::ptr::with_exposed_provenance(self.object()) }
    }
}

lock::guard!(MutexGuard, HEADER, Op::MutexUnlock, Mode::Exclusive);
lock::exclusive_guard!(MutexGuard);

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // This calls the `try_lock` of the shim, because the value's `Debug` may reach scheduling
        // points.
        let mut d = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => d.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &"<locked>"),
        };
        d.field("poisoned", &self.0.is_poisoned());
        d.finish_non_exhaustive()
    }
}
