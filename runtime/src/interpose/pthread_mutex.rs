//! Mutexes and spin locks of C code.

use core::ffi::c_int;

use super::futex::task_thread_id;
use super::locks::{FOR_EVER, Lock, is_clock, moment};
use crate::base::real;
use crate::base::sys::{self, pthread_mutex_t, timespec};
use crate::execution::{Op, active};

const KIND: c_int = 3;
const RECURSIVE: c_int = 1;
const CHECKED: c_int = 2;

pub(super) fn lock_of(mutex: *const pthread_mutex_t) -> Lock {
    Lock {
        object: mutex.addr(),
        exclusive: true,
    }
}

/// Tries to lock the real mutex, for a call that waits if the mutex is held. If the mutex is an
/// error-checking one and the caller holds it, returns `EDEADLK`, because the caller would wait
/// for itself.
pub(super) unsafe fn attempt(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller gives a live mutex.
    unsafe {
        let checks = (*mutex).kind & KIND == CHECKED;
        if checks && (*mutex).owner == task_thread_id() {
            return sys::EDEADLK;
        }
        real::pthread_mutex_trylock(mutex)
    }
}

/// Unlocks the real mutex once. Returns whether the mutex is free afterwards. It is not free if
/// the mutex is recursive and the caller has locked it several times.
pub(super) unsafe fn unlock(mutex: *mut pthread_mutex_t) -> Result<bool, c_int> {
    // SAFETY: the caller gives a live mutex.
    unsafe {
        let counts = (*mutex).kind & KIND == RECURSIVE;
        match real::pthread_mutex_unlock(mutex) {
            0 => Ok(!counts || (*mutex).owner != task_thread_id()),
            error => Err(error),
        }
    }
}

/// libc's `pthread_mutex_lock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_mutex_lock(mutex);
        }
        lock_of(mutex).take(Op::PthreadMutexLock, || attempt(mutex), || FOR_EVER)
    }
}

/// libc's `pthread_mutex_trylock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    let attempt = || unsafe { real::pthread_mutex_trylock(mutex) };
    if !active() {
        return attempt();
    }
    lock_of(mutex).try_take(Op::PthreadMutexTryLock, attempt)
}

/// libc's `pthread_mutex_timedlock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_mutex_timedlock(mutex, time);
        }
        let deadline = || moment(time);
        lock_of(mutex).take(Op::PthreadMutexTimedLock, || attempt(mutex), deadline)
    }
}

/// libc's `pthread_mutex_clocklock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_mutex_clocklock(mutex, clock, time);
        }
        if !is_clock(clock) {
            return sys::EINVAL;
        }
        pthread_mutex_timedlock(mutex, time)
    }
}

/// libc's `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_mutex_unlock(mutex);
        }
        lock_of(mutex).give_back(Op::PthreadMutexUnlock, || unlock(mutex))
    }
}

fn spin_lock_of(lock: *const c_int) -> Lock {
    Lock {
        object: lock.addr(),
        exclusive: true,
    }
}

/// libc's `pthread_spin_lock`. A task that would spin is blocked until the lock is released.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_lock(lock: *mut c_int) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_spin_lock(lock);
        }
        let attempt = || real::pthread_spin_trylock(lock);
        spin_lock_of(lock).take(Op::PthreadSpinLock, attempt, || FOR_EVER)
    }
}

/// libc's `pthread_spin_trylock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_trylock(lock: *mut c_int) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    let attempt = || unsafe { real::pthread_spin_trylock(lock) };
    if !active() {
        return attempt();
    }
    spin_lock_of(lock).try_take(Op::PthreadSpinTryLock, attempt)
}

/// libc's `pthread_spin_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_unlock(lock: *mut c_int) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    let release = || unsafe { real::pthread_spin_unlock(lock) };
    if !active() {
        return release();
    }
    let release = || match release() {
        0 => Ok(true),
        error => Err(error),
    };
    spin_lock_of(lock).give_back(Op::PthreadSpinUnlock, release)
}
