//! Condition variables of C code. The engine queues the waiters, and libc's part of a
//! condition variable stays unchanged.

use core::ffi::{c_int, c_void};

use super::locks::{FOR_EVER, is_clock, moment};
use super::pthread_mutex;
use crate::base::real;
use crate::base::sys::{self, pthread_mutex_t, timespec};
use crate::execution::{self, Effect, Op, Wake, active, opaque};

/// Releases the mutex and begins to wait, in one step. After the wait, acquires the mutex again.
unsafe fn wait(
    op: Op,
    condition: *const c_void,
    mutex: *mut pthread_mutex_t,
    deadline: Option<u64>,
) -> c_int {
    let object = condition.addr();
    let outermost = opaque::arrive(op, object);
    let lock = pthread_mutex::lock_of(mutex);
    // SAFETY: the caller's arguments are those of the real function.
    let is_free = match unsafe { pthread_mutex::unlock(mutex) } {
        Ok(is_free) => is_free,
        Err(error) => return error,
    };
    opaque::record(op, object, op.effect());
    if is_free {
        lock.released();
        execution::touch(lock.object, Effect::Release);
    }
    let wake = opaque::sleep_or_wake_spuriously(op, object, deadline, outermost);
    // SAFETY: as before.
    let attempt = || unsafe { pthread_mutex::attempt(mutex) };
    match lock.take(Op::PthreadMutexRelock, attempt, || FOR_EVER) {
        0 if wake == Wake::TimedOut => sys::ETIMEDOUT,
        result => result,
    }
}

/// libc's `pthread_cond_wait`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_cond_wait(
    condition: *mut c_void,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_cond_wait(condition, mutex);
        }
        wait(Op::PthreadCondWait, condition, mutex, None)
    }
}

/// libc's `pthread_cond_timedwait`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_cond_timedwait(condition, mutex, time);
        }
        match moment(time) {
            Ok(deadline) => wait(Op::PthreadCondTimedWait, condition, mutex, deadline),
            Err(error) => error,
        }
    }
}

/// libc's `pthread_cond_clockwait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    mutex: *mut pthread_mutex_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_cond_clockwait(condition, mutex, clock, time);
        }
        if !is_clock(clock) {
            return sys::EINVAL;
        }
        pthread_cond_timedwait(condition, mutex, time)
    }
}

/// libc's `pthread_cond_signal`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_cond_signal(condition: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_cond_signal(condition);
        }
    }
    opaque::notify(Op::PthreadCondSignal, condition.addr(), false);
    0
}

/// libc's `pthread_cond_broadcast`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_cond_broadcast(condition);
        }
    }
    opaque::notify(Op::PthreadCondBroadcast, condition.addr(), true);
    0
}
