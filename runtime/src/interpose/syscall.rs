//! `syscall`: the system calls that programs make by number.

use core::ffi::{c_int, c_long};

use super::{futex, kernel_writes, random};
use crate::base::sys::{self, number};
use crate::execution::{self, Op, active};
use crate::monitor::race;

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
                // Kernels before 5.16 return this error, so callers have a fallback.
                number::FUTEX_WAITV => return returned(Err(sys::ENOSYS)),
                number::GETRANDOM => return random::fill(a as *mut u8, b).cast_signed() as c_long,
                number::SCHED_YIELD => {
                    execution::yield_now(Op::YieldNow, None);
                    return 0;
                }
                number::MEMBARRIER if makes_fences(a) => {
                    let fence = || ((), Op::Fence.effect());
                    execution::access_with(Op::Fence, 0, None, fence);
                    // This fence does not commute with the operations of other tasks.
                    execution::touch_unseen();
                    race::fence_all();
                }
                number::GETTID => return c_long::from(futex::task_thread_id()),
                _ => {
                    if let Some(result) = super::number::call(number, [a, b, c, d, e, f]) {
                        return result;
                    }
                    kernel_writes::admit_arguments([a, b, c, d, e, f]);
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

/// Whether the command of `membarrier` is a fence on every thread of the process, and not a query
/// or a registration.
fn makes_fences(command: usize) -> bool {
    const GLOBAL: usize = 1;
    const GLOBAL_EXPEDITED: usize = 2;
    const PRIVATE_EXPEDITED: usize = 8;
    const PRIVATE_EXPEDITED_SYNC_CORE: usize = 32;
    const PRIVATE_EXPEDITED_RSEQ: usize = 128;
    matches!(
        command,
        GLOBAL
            | GLOBAL_EXPEDITED
            | PRIVATE_EXPEDITED
            | PRIVATE_EXPEDITED_SYNC_CORE
            | PRIVATE_EXPEDITED_RSEQ
    )
}

/// Converts `result` to the form of libc's functions. For an error, whose number is positive in
/// `result`, sets `errno` and returns -1.
fn returned(result: Result<isize, c_int>) -> c_long {
    sys::libc_result(result.unwrap_or_else(|error| -(error as isize))) as c_long
}
