//! Read-write locks of C code.

use core::ffi::c_int;

use super::futex::task_thread_id;
use super::locks::{FOR_EVER, Lock, is_clock, moment};
use crate::base::real;
use crate::base::sys::{self, pthread_rwlock_t, timespec};
use crate::execution::{Op, active, opaque};

/// The value of the field `kind` of a lock whose readers wait for queued writers.
const PREFERS_WRITERS: u32 = 2;

fn reading(lock: *const pthread_rwlock_t) -> Lock {
    Lock {
        object: lock.addr(),
        exclusive: false,
    }
}

fn writing(lock: *const pthread_rwlock_t) -> Lock {
    Lock {
        object: lock.addr(),
        exclusive: true,
    }
}

/// Whether the calling task holds the lock for writing.
unsafe fn writes(lock: *const pthread_rwlock_t) -> bool {
    // SAFETY: the caller gives a live lock.
    unsafe { (*lock).writer == task_thread_id() }
}

/// Tries to acquire the real lock for a reader. Returns `EDEADLK` if the caller holds the lock for
/// writing. Returns `EBUSY` if another task holds the lock for writing, or if a waiting writer has
/// precedence. Writers wait in the engine, so only the engine knows the waiting writers.
unsafe fn attempt_read(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller gives a live lock.
    unsafe {
        if writes(lock) {
            return sys::EDEADLK;
        }
        try_read(lock)
    }
}

unsafe fn try_read(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller gives a live lock.
    unsafe {
        if (*lock).kind == PREFERS_WRITERS && opaque::has_queued_writers(lock.addr()) {
            return sys::EBUSY;
        }
        real::pthread_rwlock_tryrdlock(lock)
    }
}

/// Tries to acquire the real lock for a writer. Returns `EDEADLK` if the caller itself holds the
/// lock for writing. If the lock is held otherwise, returns `EBUSY` and queues the caller as a
/// waiting writer.
unsafe fn attempt_write(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller gives a live lock.
    unsafe {
        if writes(lock) {
            return sys::EDEADLK;
        }
        let result = real::pthread_rwlock_trywrlock(lock);
        opaque::queue_writer(lock.addr(), result == sys::EBUSY);
        result
    }
}

unsafe fn read(lock: *mut pthread_rwlock_t, deadline: Deadline) -> c_int {
    // SAFETY: the caller gives a live lock, and a readable time if one.
    let attempt = || unsafe { attempt_read(lock) };
    // SAFETY: as before.
    let deadline = || unsafe { deadline.moment() };
    reading(lock).take(Op::PthreadRwLockRead, attempt, deadline)
}

unsafe fn write(lock: *mut pthread_rwlock_t, deadline: Deadline) -> c_int {
    // SAFETY: the caller gives a live lock, and a readable time if one.
    let attempt = || unsafe { attempt_write(lock) };
    // SAFETY: as before.
    let deadline = || unsafe { deadline.moment() };
    let result = writing(lock).take(Op::PthreadRwLockWrite, attempt, deadline);
    opaque::queue_writer(lock.addr(), false);
    result
}

/// The end of a wait. `None` if the wait has no end.
#[derive(Clone, Copy)]
struct Deadline(Option<*const timespec>);

impl Deadline {
    unsafe fn moment(self) -> Result<Option<u64>, c_int> {
        match self.0 {
            // SAFETY: the caller gives a readable time.
            Some(time) => unsafe { moment(time) },
            None => FOR_EVER,
        }
    }
}

/// Defines the three functions of libc that wait for a lock: without limit, until a time of the
/// default clock, and until a time of a given clock.
macro_rules! waiting {
    ($wait:ident: $for_ever:ident, $timed:ident, $with_clock:ident) => {
        /// libc's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $for_ever(lock: *mut pthread_rwlock_t) -> c_int {
            // SAFETY: the caller's argument is that of the real function.
            unsafe {
                if !active() {
                    return real::$for_ever(lock);
                }
                $wait(lock, Deadline(None))
            }
        }

        /// libc's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $timed(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
            // SAFETY: the caller's arguments are those of the real function.
            unsafe {
                if !active() {
                    return real::$timed(lock, time);
                }
                $wait(lock, Deadline(Some(time)))
            }
        }

        /// libc's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $with_clock(
            lock: *mut pthread_rwlock_t,
            clock: c_int,
            time: *const timespec,
        ) -> c_int {
            // SAFETY: the caller's arguments are those of the real function.
            unsafe {
                if !active() {
                    return real::$with_clock(lock, clock, time);
                }
                if !is_clock(clock) {
                    return sys::EINVAL;
                }
                $wait(lock, Deadline(Some(time)))
            }
        }
    };
}

waiting!(read: pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock);
waiting!(write: pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock);

/// libc's `pthread_rwlock_tryrdlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_rwlock_tryrdlock(lock);
        }
        reading(lock).try_take(Op::PthreadRwLockTryRead, || try_read(lock))
    }
}

/// libc's `pthread_rwlock_trywrlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    let attempt = || unsafe { real::pthread_rwlock_trywrlock(lock) };
    if !active() {
        return attempt();
    }
    writing(lock).try_take(Op::PthreadRwLockTryWrite, attempt)
}

/// libc's `pthread_rwlock_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_rwlock_unlock(lock);
        }
        let held = if writes(lock) {
            writing(lock)
        } else {
            reading(lock)
        };
        held.give_back(
            Op::PthreadRwLockUnlock,
            || match real::pthread_rwlock_unlock(lock) {
                0 => Ok(true),
                error => Err(error),
            },
        )
    }
}
