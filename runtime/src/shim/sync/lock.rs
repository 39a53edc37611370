//! The common part of `Mutex` and `RwLock`: the real lock is acquired after the engine's lock.

use std::mem::ManuallyDrop;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::execution::{self, Mode, Op, Site};
use crate::monitor::race;

/// Returns `result`, with its guard replaced by `change`.
#[inline]
pub(super) fn map<A, B>(result: LockResult<A>, change: impl FnOnce(A) -> B) -> LockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(poisoned) => Err(PoisonError::new(change(poisoned.into_inner()))),
    }
}

/// Returns `result`, with its guard replaced by `change`.
#[inline]
pub(super) fn map_try<A, B>(
    result: TryLockResult<A>,
    change: impl FnOnce(A) -> B,
) -> TryLockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(TryLockError::Poisoned(poisoned)) => {
            Err(PoisonError::new(change(poisoned.into_inner())).into())
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

/// Acquires the engine's lock for `object`, the address of the lock, and then the real lock by
/// `attempt`.
#[inline]
pub(super) fn take<G>(
    op: Op,
    object: usize,
    mode: Mode,
    site: Site,
    attempt: impl Fn() -> TryLockResult<G>,
) -> LockResult<G> {
    execution::acquire(op, object, mode, site);
    loop {
        match race::unwatched(&attempt) {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
            // A thread that is not a task holds the real lock, or a guard was leaked.
            Err(TryLockError::WouldBlock) => {
                execution::wait(op, object, None, site);
            }
        }
    }
}

/// Tries to acquire the engine's lock for `object`, the address of the lock, and then the real
/// lock by `attempt`.
#[inline]
pub(super) fn try_take<G>(
    op: Op,
    object: usize,
    mode: Mode,
    site: Site,
    attempt: impl FnOnce() -> TryLockResult<G>,
) -> TryLockResult<G> {
    if !execution::try_acquire(op, object, mode, site) {
        return Err(TryLockError::WouldBlock);
    }
    let result = race::unwatched(attempt);
    if let Err(TryLockError::WouldBlock) = result {
        // As in `take`: a thread that is not a task holds the real lock, or a guard was leaked.
        execution::release(op, object, mode, || {});
    }
    result
}

/// The address of the lock that contains `value`. `header` is the number of bytes of the lock
/// before a value with the alignment 1.
///
/// The value of a lock may be unsized, so it is the last field. It is at the first address after
/// the header that has the value's alignment.
#[inline]
pub(super) fn around<T: ?Sized>(value: &T, header: usize) -> usize {
    let mask = align_of_val(value) - 1;
    (&raw const *value).addr() - ((header + mask) & !mask)
}

/// Releases the real lock, by the drop of its guard, and the engine's lock.
///
/// # Safety
/// `guard` must not be used again.
#[inline]
pub(super) unsafe fn give_back<G>(op: Op, object: usize, mode: Mode, guard: &mut ManuallyDrop<G>) {
    // SAFETY: it is dropped once, and the caller does not use it again.
    let mut unlock = || race::unwatched(|| unsafe { ManuallyDrop::drop(guard) });
    if execution::active() {
        execution::release(op, object, mode, unlock);
    } else {
        unlock();
    }
}

/// The number of bytes before the value in a lock of `std`, for a value with the alignment 1.
macro_rules! header {
    ($Lock:ident) => {{
        let lock = std::sync::$Lock::new(0_u8);
        // SAFETY: both point into `lock`.
        unsafe {
            lock.data_ptr()
                .cast_const()
                .byte_offset_from_unsigned(&raw const lock)
        }
    }};
}

/// Implements the common parts of locks, for a shim whose only field is the real lock.
macro_rules! lock {
    ($Lock:ident) => {
        impl<T: ?Sized> $Lock<T> {
            #[inline]
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                if execution::active() {
                    execution::access(Op::IsPoisoned, self.object(), Location::caller());
                }
                self.0.is_poisoned()
            }

            #[inline]
            #[track_caller]
            pub fn clear_poison(&self) {
                execution::clear_poison(self.object(), Location::caller(), || {
                    let was_poisoned = self.0.is_poisoned();
                    self.0.clear_poison();
                    was_poisoned
                });
            }

            pub fn into_inner(self) -> LockResult<T>
            where
                T: Sized,
            {
                self.0.into_inner()
            }

            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.0.get_mut()
            }

            #[inline]
            pub(super) fn object(&self) -> usize {
                (&raw const self.0).addr()
            }
        }

        impl<T> From<T> for $Lock<T> {
            fn from(t: T) -> Self {
                $Lock::new(t)
            }
        }

        impl<T: Default> Default for $Lock<T> {
            fn default() -> $Lock<T> {
                $Lock::new(Default::default())
            }
        }
    };
}

/// Implements the common parts of a guard, for a shim whose only field is the real guard. The drop
/// of the guard releases the lock with the operation `$unlock`. The guard holds the lock in the
/// mode `$mode`.
macro_rules! guard {
    ($Guard:ident, $header:expr, $unlock:expr, $mode:expr) => {
        impl<'a, T: ?Sized> $Guard<'a, T> {
            #[inline]
            pub(super) fn of_real(real: std::sync::$Guard<'a, T>) -> Self {
                $Guard(ManuallyDrop::new(real))
            }

            #[inline]
            pub(super) fn object(&self) -> usize {
                lock::around::<T>(&self.0, $header)
            }
        }

        impl<T: ?Sized> Drop for $Guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                let object = self.object();
                // SAFETY: this is the drop of the guard itself.
                unsafe { lock::give_back($unlock, object, $mode, &mut self.0) }
            }
        }

        impl<T: ?Sized> Deref for $Guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// Implements the access of an exclusive guard to the value.
macro_rules! exclusive_guard {
    ($Guard:ident) => {
        impl<T: ?Sized> DerefMut for $Guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.0
            }
        }
    };
}

pub(super) use {exclusive_guard, guard, header, lock};

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use crate::shim::sync::{Mutex, MutexGuard, RwLock};

    #[repr(align(64))]
    struct Wide(#[expect(dead_code, reason = "it takes room")] u8);

    fn guards_know_their_lock<T: ?Sized>(mutex: &Mutex<T>, lock: &RwLock<T>) {
        let address = (&raw const *mutex).addr();
        assert_eq!(mutex.lock().unwrap().object(), address);
        assert_eq!(mutex.try_lock().unwrap().object(), address);
        let address = (&raw const *lock).addr();
        assert_eq!(lock.read().unwrap().object(), address);
        assert_eq!(lock.write().unwrap().object(), address);
    }

    fn of<T>(make: impl Fn() -> T) {
        // The mutexes are next to each other, so a wrong offset leads to a neighbour.
        let mutexes = [const { None }; 3].map(|_: Option<T>| Mutex::new(make()));
        let locks = [const { None }; 3].map(|_: Option<T>| RwLock::new(make()));
        for (mutex, lock) in mutexes.iter().zip(&locks) {
            guards_know_their_lock(mutex, lock);
        }
    }

    #[test]
    fn guards_know_the_locks_of_values_of_any_size_and_alignment() {
        of(|| ());
        of(|| 1_u8);
        of(|| 1_u16);
        of(|| [1_u8; 7]);
        of(|| 1_u32);
        of(|| (1_u8, 1_u64));
        of(|| 1_u128);
        of(|| Wide(1));
        of(|| [Wide(1), Wide(2)]);
        of(String::new);
    }

    #[test]
    fn guards_know_the_locks_of_values_without_a_size() {
        guards_know_their_lock::<[u8]>(&Mutex::new([1; 3]), &RwLock::new([1; 5]));
        guards_know_their_lock::<[u64]>(&Mutex::new([1; 3]), &RwLock::new([1; 0]));
        guards_know_their_lock::<dyn Send>(&Mutex::new(1_u8), &RwLock::new(1_u16));
        guards_know_their_lock::<dyn Send>(&Mutex::new(Wide(1)), &RwLock::new(Wide(1)));
        guards_know_their_lock::<dyn Debug>(&Mutex::new(1_u128), &RwLock::new(String::new()));
    }

    #[test]
    fn a_guard_leads_to_its_mutex() {
        let mutex = Mutex::new(Wide(1));
        assert!(std::ptr::eq(
            MutexGuard::mutex(&mutex.lock().unwrap()),
            &raw const mutex
        ));
    }
}
