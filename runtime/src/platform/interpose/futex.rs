//! `syscall`: futexes, on which std's own internals and opaque crates block.

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicU32, Ordering};

use super::super::sys::{self, number, timespec};
use super::random;
use crate::engine::engine;
use crate::execution::{self, active};

const WAIT: usize = 0;
const WAKE: usize = 1;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const PRIVATE: usize = 128;
const CLOCK_REALTIME: usize = 256;

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
                    if let Some(result) = futex(a, b, c, d, f) {
                        return sys::libc_result(result) as c_long;
                    }
                }
                number::GETRANDOM => return random::fill(a as *mut u8, b).cast_signed() as c_long,
                number::SCHED_YIELD => {
                    execution::yield_from(execution::Op::YieldNow, None);
                    return 0;
                }
                number::GETTID => return c_long::from(task_thread_id()),
                _ => {}
            }
        }
    }
    // SAFETY: the caller's promise.
    sys::libc_result(unsafe { sys::syscall(number, [a, b, c, d, e, f]) }) as c_long
}

/// A futex operation of a task; `None` for operations that do not block or wake.
unsafe fn futex(
    word: usize,
    operation: usize,
    value: usize,
    time: usize,
    bits: usize,
) -> Option<isize> {
    let operation = operation & !(PRIVATE | CLOCK_REALTIME);
    match operation {
        WAIT | WAIT_BITSET => {
            // SAFETY: the caller passes a live futex word, and null or a timespec.
            unsafe {
                let current = (*(word as *const AtomicU32)).load(Ordering::SeqCst);
                if current != value as u32 {
                    return Some(-(sys::EAGAIN as isize));
                }
                let deadline = (time != 0).then(|| {
                    let given = (*(time as *const timespec)).nanos();
                    // FUTEX_WAIT takes a duration, FUTEX_WAIT_BITSET a moment.
                    let start = if operation == WAIT {
                        execution::now()
                    } else {
                        0
                    };
                    start.saturating_add(given)
                });
                let bits = if operation == WAIT {
                    u32::MAX
                } else {
                    bits as u32
                };
                let timed_out = execution::futex_wait(word, bits, deadline);
                Some(if timed_out {
                    -(sys::ETIMEDOUT as isize)
                } else {
                    0
                })
            }
        }
        WAKE | WAKE_BITSET => {
            let bits = if operation == WAKE {
                u32::MAX
            } else {
                bits as u32
            };
            let count = usize::try_from(value as c_int).unwrap_or(usize::MAX);
            Some(execution::futex_wake(word, bits, count).cast_signed())
        }
        _ => None,
    }
}

/// The kernel thread that a task's stack and thread-locals belong to.
fn task_thread_id() -> c_int {
    let Some(execution) = execution::running() else {
        return 0;
    };
    // SAFETY: see `execution::running`.
    unsafe {
        (*engine())
            .pool
            .get((*execution).running().donor)
            .kernel_thread
    }
}

/// libc's `gettid`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> c_int {
    if active() {
        task_thread_id()
    } else {
        sys::kernel_thread_id()
    }
}
