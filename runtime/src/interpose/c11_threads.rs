//! The threads, locks, condition variables and keys of C11's `<threads.h>`.
//!
//! In glibc these functions are the pthread functions under other names. But glibc's versions call
//! glibc's own pthread functions, not the interposed ones. So each of them is defined here, and
//! calls the corresponding interposed function.

use core::ffi::{c_int, c_void};

use super::pthread_cond::{
    pthread_cond_broadcast, pthread_cond_signal, pthread_cond_timedwait, pthread_cond_wait,
};
use super::pthread_exit::pthread_exit;
use super::pthread_mutex::{
    pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_trylock, pthread_mutex_unlock,
};
use super::pthread_once::pthread_once;
use super::thread_locals::{
    pthread_getspecific, pthread_key_create, pthread_key_delete, pthread_setspecific,
};
use super::threads::{pthread_create, pthread_detach, pthread_join};
use super::time::{nanosleep, sched_yield};
use crate::base::sys::{self, OnceRoutine, pthread_key_t, pthread_mutex_t, pthread_t, timespec};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// Converts an error number of pthreads to C11's result.
fn result(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        sys::EBUSY => BUSY,
        sys::ENOMEM => NO_MEMORY,
        sys::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The function of a C11 thread, and its argument.
struct Thread {
    start: Start,
    argument: *mut c_void,
}

/// The start routine of a C11 thread for `pthread_create`. `thread` is a boxed [`Thread`].
unsafe extern "C" fn run(thread: *mut c_void) -> *mut c_void {
    // SAFETY: made by `thrd_create` for this thread alone, which runs the program's
    // function with the program's argument, as requested.
    unsafe {
        let Thread { start, argument } = *Box::from_raw(thread.cast::<Thread>());
        as_pointer(start(argument))
    }
}

/// Converts the result of a C11 thread, a number, to the result of a pthread, a pointer.
fn as_pointer(result: c_int) -> *mut c_void {
    core::ptr::without_provenance_mut(result as usize)
}

/// libc's `thrd_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let own = Box::into_raw(Box::new(Thread { start, argument }));
    // SAFETY: the caller's arguments are those of the real function; if no thread was
    // created, `own` still belongs to this function.
    unsafe {
        let error = pthread_create(thread, core::ptr::null(), run, own.cast());
        if error != 0 {
            drop(Box::from_raw(own));
        }
        result(error)
    }
}

/// libc's `thrd_join`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_join(thread: pthread_t, to: *mut c_int) -> c_int {
    let mut pointer = core::ptr::null_mut();
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let error = pthread_join(thread, &raw mut pointer);
        if error == 0 && !to.is_null() {
            *to = pointer.addr() as c_int;
        }
        result(error)
    }
}

/// libc's `thrd_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(thread: pthread_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_detach(thread) })
}

/// libc's `thrd_exit`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
    // SAFETY: the caller abandons its frames.
    unsafe { pthread_exit(as_pointer(result)) }
}

/// libc's `thrd_yield`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_yield() {
    // SAFETY: no arguments.
    unsafe { sched_yield() };
}

/// libc's `thrd_sleep`.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_sleep(request: *const timespec, remaining: *mut timespec) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe { nanosleep(request, remaining) }
}

/// libc's `mtx_lock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_mutex_lock(mutex) })
}

/// libc's `mtx_trylock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_mutex_trylock(mutex) })
}

/// libc's `mtx_timedlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    result(unsafe { pthread_mutex_timedlock(mutex, time) })
}

/// libc's `mtx_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_mutex_unlock(mutex) })
}

/// libc's `cnd_wait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_wait(condition: *mut c_void, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    result(unsafe { pthread_cond_wait(condition, mutex) })
}

/// libc's `cnd_timedwait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_timedwait(
    condition: *mut c_void,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    result(unsafe { pthread_cond_timedwait(condition, mutex, time) })
}

/// libc's `cnd_signal`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_signal(condition: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_cond_signal(condition) })
}

/// libc's `cnd_broadcast`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_broadcast(condition: *mut c_void) -> c_int {
    // SAFETY: the caller's argument is that of the real function.
    result(unsafe { pthread_cond_broadcast(condition) })
}

/// libc's `call_once`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn call_once(flag: *mut c_int, routine: OnceRoutine) {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe { pthread_once(flag, routine) };
}

/// libc's `tss_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_create(
    key: *mut pthread_key_t,
    destructor: Option<sys::Destructor>,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    result(unsafe { pthread_key_create(key, destructor) })
}

/// libc's `tss_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_delete(key: pthread_key_t) {
    // SAFETY: the caller's argument is that of the real function.
    unsafe { pthread_key_delete(key) };
}

/// libc's `tss_get`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_get(key: pthread_key_t) -> *mut c_void {
    // SAFETY: the caller's argument is that of the real function.
    unsafe { pthread_getspecific(key) }
}

/// libc's `tss_set`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_set(key: pthread_key_t, value: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    result(unsafe { pthread_setspecific(key, value) })
}
