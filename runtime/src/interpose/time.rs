//! Clocks and sleeps: virtual time for tasks.

use core::ffi::{c_int, c_long, c_uint, c_void};

use super::call::admit;
use crate::base::real;
use crate::base::sys::{self, number, timespec, timeval};
use crate::execution::{self, Op, active};

const TIMER_ABSTIME: c_int = 1;

/// Whether the kernel accepts `time` as the length of a wait, or as a time on a clock.
pub(super) fn is_valid(time: &timespec) -> bool {
    time.tv_sec >= 0 && time.is_valid()
}

/// The length of a wait in nanoseconds; `None` for a wait without a limit.
///
/// # Errors
/// If the kernel does not accept the length, returns the result of the system call (a negative
/// error number).
pub(super) fn limit(time: Option<&timespec>) -> Result<Option<u64>, isize> {
    match time {
        None => Ok(None),
        Some(time) if is_valid(time) => Ok(Some(time.nanos())),
        Some(_) => Err(-(sys::EINVAL as isize)),
    }
}

/// libc's `clock_gettime`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut timespec) -> c_int {
    // SAFETY: the caller gives a writable timespec.
    unsafe {
        if !active() {
            return real::clock_gettime(clock, out);
        }
        *out = timespec::from_nanos(execution::read_clock());
    }
    0
}

/// libc's `gettimeofday`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn gettimeofday(out: *mut timeval, zone: *mut c_void) -> c_int {
    // SAFETY: the caller gives null or a writable timeval, and null or a writable time zone.
    unsafe {
        if !active() {
            return real::gettimeofday(out, zone);
        }
        if !out.is_null() {
            let now = timespec::from_nanos(execution::read_clock());
            *out = timeval {
                tv_sec: now.tv_sec,
                tv_usec: now.tv_nsec / 1_000,
            };
        }
        if !zone.is_null() {
            // As in libc: two numbers, which are 0.
            zone.cast::<[c_int; 2]>().write([0; 2]);
        }
    }
    0
}

/// libc's `time`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn time(out: *mut c_long) -> c_long {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable; the caller gives null or a writable word.
    unsafe {
        clock_gettime(0, &raw mut now);
        if !out.is_null() {
            *out = now.tv_sec as c_long;
        }
    }
    now.tv_sec as c_long
}

/// libc's `times`. The result is the virtual time in ticks of 10 ms.
#[unsafe(no_mangle)]
unsafe extern "C" fn times(out: *mut c_void) -> c_long {
    const SIZE: usize = 32;
    const TICK: u64 = 10_000_000;
    if active() {
        admit(out as usize, SIZE);
    }
    // SAFETY: the caller's argument is that of the system call.
    let ticks = unsafe { sys::syscall(number::TIMES, [out as usize, 0, 0, 0, 0, 0]) };
    if active() {
        (execution::read_clock() / TICK).cast_signed() as c_long
    } else {
        sys::libc_result(ticks) as c_long
    }
}

/// libc's `sysinfo`. The first field of the structure is the time since the start of the machine,
/// in seconds: the time of `CLOCK_BOOTTIME`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sysinfo(out: *mut c_long) -> c_int {
    const SIZE: usize = 112;
    const SECOND: u64 = 1_000_000_000;
    if active() {
        admit(out as usize, SIZE);
    }
    // SAFETY: the caller passes room for the structure.
    unsafe {
        let result = sys::syscall(number::SYSINFO, [out as usize, 0, 0, 0, 0, 0]);
        if active() && result == 0 {
            out.write((execution::read_clock() / SECOND).cast_signed() as c_long);
        }
        sys::libc_result(result) as c_int
    }
}

/// libc's `clock_nanosleep`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    // SAFETY: the caller gives a readable timespec.
    unsafe {
        if !active() {
            let arguments = [
                clock as usize,
                flags as usize,
                request as usize,
                remaining as usize,
                0,
                0,
            ];
            return -(sys::syscall(number::CLOCK_NANOSLEEP, arguments) as c_int);
        }
        if !is_valid(&*request) {
            return sys::EINVAL;
        }
        let start = if flags & TIMER_ABSTIME == 0 {
            execution::now()
        } else {
            0
        };
        execution::sleep_until(start.saturating_add((*request).nanos()), None);
    }
    0
}

/// libc's `nanosleep`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn nanosleep(
    request: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    // SAFETY: the caller gives a readable timespec.
    unsafe {
        if !active() {
            let arguments = [request as usize, remaining as usize, 0, 0, 0, 0];
            return sys::libc_result(sys::syscall(number::NANOSLEEP, arguments)) as c_int;
        }
        if !is_valid(&*request) {
            return sys::libc_failure(sys::EINVAL);
        }
        execution::sleep_until(execution::now().saturating_add((*request).nanos()), None);
    }
    0
}

/// libc's `usleep`.
#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(micros: c_uint) -> c_int {
    let request = timespec::from_nanos(u64::from(micros) * 1_000);
    // SAFETY: a readable timespec.
    unsafe { nanosleep(&raw const request, core::ptr::null_mut()) }
}

/// libc's `sleep`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let request = timespec::from_nanos(u64::from(seconds) * 1_000_000_000);
    // SAFETY: a readable timespec.
    unsafe { nanosleep(&raw const request, core::ptr::null_mut()) };
    0
}

/// libc's `sched_yield`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sched_yield() -> c_int {
    if active() {
        execution::yield_now(Op::YieldNow, None);
        return 0;
    }
    // SAFETY: no arguments, no memory.
    unsafe { sys::syscall(number::SCHED_YIELD, [0; 6]) as c_int }
}
