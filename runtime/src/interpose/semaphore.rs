//! Semaphores of C code.

use core::ffi::{c_int, c_void};

use super::locks::{FOR_EVER, Lock, is_clock, moment};
use crate::base::real;
use crate::base::sys::{self, __errno_location, timespec};
use crate::execution::{Op, active, opaque};

fn lock_of(semaphore: *const c_void) -> Lock {
    Lock {
        object: semaphore.addr(),
        exclusive: false,
    }
}

/// Tries to acquire the real semaphore. Returns 0 or an error number. The error number is `EBUSY`
/// if the value of the semaphore is 0.
unsafe fn attempt(semaphore: *mut c_void) -> c_int {
    // SAFETY: the caller gives a live semaphore.
    unsafe {
        if real::sem_trywait(semaphore) == 0 {
            return 0;
        }
        match *__errno_location() {
            sys::EAGAIN => sys::EBUSY,
            error => error,
        }
    }
}

/// Converts an error number to the result of the semaphore functions: for an error, they set
/// `errno` and return -1.
fn returned(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: `errno` of the calling thread.
    unsafe { *__errno_location() = error };
    -1
}

/// libc's `sem_wait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_wait(semaphore: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::sem_wait(semaphore);
        }
        let attempt = || attempt(semaphore);
        returned(lock_of(semaphore).take(Op::SemWait, attempt, || FOR_EVER))
    }
}

/// libc's `sem_trywait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_trywait(semaphore: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::sem_trywait(semaphore);
        }
        let attempt = || attempt(semaphore);
        returned(match lock_of(semaphore).try_take(Op::SemTryWait, attempt) {
            sys::EBUSY => sys::EAGAIN,
            result => result,
        })
    }
}

/// libc's `sem_timedwait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, time: *const timespec) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::sem_timedwait(semaphore, time);
        }
        let attempt = || attempt(semaphore);
        returned(lock_of(semaphore).take(Op::SemTimedWait, attempt, || moment(time)))
    }
}

/// libc's `sem_clockwait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::sem_clockwait(semaphore, clock, time);
        }
        if !is_clock(clock) {
            return returned(sys::EINVAL);
        }
        sem_timedwait(semaphore, time)
    }
}

/// libc's `sem_post`. Wakes all waiting tasks, which try again; one of them can succeed.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    let post = || unsafe { real::sem_post(semaphore) };
    if !active() {
        return post();
    }
    lock_of(semaphore).give_back(Op::SemPost, || match post() {
        0 => Ok(true),
        error => Err(error),
    })
}

/// libc's `sem_getvalue`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    let look = || unsafe { real::sem_getvalue(semaphore, value) };
    if !active() {
        return look();
    }
    opaque::arrive_to_try(Op::SemGetValue, semaphore.addr());
    let result = look();
    opaque::record_look(Op::SemGetValue, semaphore.addr());
    result
}
