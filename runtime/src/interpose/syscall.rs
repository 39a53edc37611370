//! `syscall`: the system calls that programs make by number.

use core::ffi::{c_int, c_long};

use super::{futex, random};
use crate::base::sys::{self, number};
use crate::execution::{self, active};

/// libc's `syscall`.
#[expect(
    clippy::many_single_char_names,
    reason = "the six words of any system call"
)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let number = number.cast_unsigned() as usize;
    if active() {
        // SAFETY: the caller's arguments are those of the system call.
        unsafe {
            match number {
                number::FUTEX => {
                    let result = futex::call([a, b, c, d, e, f]);
                    return returned(result.map(usize::cast_signed));
                }
                // The answer of kernels before 5.16: callers have a fallback.
                number::FUTEX_WAITV => return returned(Err(sys::ENOSYS)),
                number::GETRANDOM => return random::fill(a as *mut u8, b).cast_signed() as c_long,
                number::SCHED_YIELD => {
                    execution::yield_now(execution::Op::YieldNow, None);
                    return 0;
                }
                number::GETTID => return c_long::from(futex::task_thread_id()),
                _ => {
                    if let Some(result) = super::number::call(number, [a, b, c, d, e, f]) {
                        return result;
                    }
                }
            }
        }
    }
    if number == number::FUTEX
        && let Some(result) = futex::call_of_thread(a, b)
    {
        return result.cast_signed() as c_long;
    }
    // SAFETY: the caller's arguments are those of the system call.
    sys::libc_result(unsafe { sys::syscall(number, [a, b, c, d, e, f]) }) as c_long
}

/// Converts a result of the kernel to the form of libc's functions.
fn returned(result: Result<isize, c_int>) -> c_long {
    sys::libc_result(result.unwrap_or_else(|error| -(error as isize))) as c_long
}
