//! `RwLock` and its guards. The only field of a guard is the real guard: see [`super::mutex`].

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::lock;
use crate::execution::{self, Mode, Op};

/// See [`std::sync::RwLock`].
#[repr(transparent)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

/// See [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
#[repr(transparent)]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock>(
    ManuallyDrop<std::sync::RwLockReadGuard<'rwlock, T>>,
);

/// See [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
#[repr(transparent)]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock>(
    ManuallyDrop<std::sync::RwLockWriteGuard<'rwlock, T>>,
);

/// The number of bytes of a lock before its value, for a value with the alignment 1.
const HEADER: usize = lock::header!(RwLock);

lock::lock!(RwLock);

// Not in the macro, because messages of the compiler about wrong arguments would name the macro.
impl<T> RwLock<T> {
    #[inline]
    pub const fn new(t: T) -> RwLock<T> {
        RwLock(std::sync::RwLock::new(t))
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let object = self.object();
        let result = if execution::active() {
            let attempt = || self.0.try_read();
            lock::take(
                Op::RwLockRead,
                object,
                Mode::Shared,
                Location::caller(),
                attempt,
            )
        } else {
            execution::condition_locks(object, Mode::Shared);
            self.0.read()
        };
        lock::map(result, RwLockReadGuard::of_real)
    }

    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let object = self.object();
        let result = if execution::active() {
            let attempt = || self.0.try_read();
            lock::try_take(
                Op::RwLockTryRead,
                object,
                Mode::Shared,
                Location::caller(),
                attempt,
            )
        } else {
            execution::condition_locks(object, Mode::Shared);
            self.0.try_read()
        };
        lock::map_try(result, RwLockReadGuard::of_real)
    }

    #[inline]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let object = self.object();
        let result = if execution::active() {
            let attempt = || self.0.try_write();
            lock::take(
                Op::RwLockWrite,
                object,
                Mode::Exclusive,
                Location::caller(),
                attempt,
            )
        } else {
            execution::before_change();
            self.0.write()
        };
        lock::map(result, RwLockWriteGuard::of_real)
    }

    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let object = self.object();
        let result = if execution::active() {
            let (mode, site) = (Mode::Exclusive, Location::caller());
            lock::try_take(Op::RwLockTryWrite, object, mode, site, || {
                self.0.try_write()
            })
        } else {
            execution::before_change();
            self.0.try_write()
        };
        lock::map_try(result, RwLockWriteGuard::of_real)
    }
}

impl<'rwlock, T: ?Sized> RwLockWriteGuard<'rwlock, T> {
    #[inline]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'rwlock, T> {
        let mut this = ManuallyDrop::new(s);
        let object = this.object();
        // SAFETY: `this` is neither used again nor dropped.
        let write = unsafe { ManuallyDrop::take(&mut this.0) };
        let mut read = None;
        let change = || read = Some(std::sync::RwLockWriteGuard::downgrade(write));
        if execution::active() {
            execution::downgrade(Op::RwLockDowngrade, object, change);
        } else {
            change();
        }
        RwLockReadGuard::of_real(read.expect("the engine ran the change"))
    }
}

lock::guard!(RwLockReadGuard, HEADER, Op::RwLockReadUnlock, Mode::Shared);
lock::guard!(
    RwLockWriteGuard,
    HEADER,
    Op::RwLockWriteUnlock,
    Mode::Exclusive
);
lock::exclusive_guard!(RwLockWriteGuard);

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // This calls the `try_read` of the shim, because the value's `Debug` may reach scheduling
        // points.
        let mut d = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => d.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &format_args!("<locked>")),
        };
        d.field("poisoned", &self.0.is_poisoned());
        d.finish_non_exhaustive()
    }
}
