//! Output of tasks to standard output and standard error. It is captured for the report, and not
//! written.
//!
//! An exploration runs a test thousands of times, and its output would drown all other output.
//! `std` prints by calls of these functions, and so does C code that calls `write` or `writev`
//! itself. C streams (`printf`) bypass these functions.

use core::ffi::{c_int, c_void};

use super::buffers::{Buffer, list_at};
use super::send;
use crate::base::sys::{self, number};
use crate::execution::{self, active};

const STDOUT: c_int = 1;
const STDERR: c_int = 2;

/// libc's `write`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn write(
    descriptor: c_int,
    bytes: *const c_void,
    length: usize,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if active() {
            let start = bytes.cast_mut().cast();
            return write_as_task(descriptor, &[Buffer { start, length }]);
        }
        let arguments = [descriptor as usize, bytes as usize, length, 0, 0, 0];
        sys::libc_result(sys::syscall(number::WRITE, arguments))
    }
}

/// libc's `writev`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn writev(
    descriptor: c_int,
    buffers: *const c_void,
    count: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if active() {
            let count = usize::try_from(count).unwrap_or(0);
            return write_as_task(descriptor, list_at(buffers.cast(), count));
        }
        let arguments = [
            descriptor as usize,
            buffers as usize,
            count as usize,
            0,
            0,
            0,
        ];
        sys::libc_result(sys::syscall(number::WRITEV, arguments))
    }
}

unsafe fn write_as_task(descriptor: c_int, buffers: &[Buffer]) -> isize {
    if !matches!(descriptor, STDOUT | STDERR) {
        // SAFETY: the caller's buffers are readable.
        return unsafe { send::write_all(descriptor, buffers) };
    }
    for buffer in buffers.iter().filter(|b| b.length > 0) {
        // SAFETY: as above.
        execution::print(unsafe { core::slice::from_raw_parts(buffer.start, buffer.length) });
    }
    buffers
        .iter()
        .map(|b| b.length)
        .sum::<usize>()
        .cast_signed()
}
