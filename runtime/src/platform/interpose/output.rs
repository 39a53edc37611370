//! What tasks print: kept for the report, and never written.
//!
//! An exploration runs a test thousands of times; its prints would drown
//! everything else. The last line of `std`'s and C's printing alike is here.

use core::ffi::{c_int, c_void};

use super::super::sys::{self, number};
use crate::execution;

const STDOUT: c_int = 1;
const STDERR: c_int = 2;

#[repr(C)]
struct Buffer {
    start: *const u8,
    length: usize,
}

/// libc's `write`.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if matches!(descriptor, STDOUT | STDERR)
            && execution::print(core::slice::from_raw_parts(bytes.cast(), length))
        {
            return length.cast_signed();
        }
        let arguments = [descriptor as usize, bytes as usize, length, 0, 0, 0];
        sys::libc_result(sys::syscall(number::WRITE, arguments))
    }
}

/// libc's `writev`.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, buffers: *const c_void, count: c_int) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if matches!(descriptor, STDOUT | STDERR) && execution::active() {
            let count = usize::try_from(count).unwrap_or(0);
            let buffers = core::slice::from_raw_parts(buffers.cast::<Buffer>(), count);
            for buffer in buffers.iter().filter(|b| b.length > 0) {
                execution::print(core::slice::from_raw_parts(buffer.start, buffer.length));
            }
            return buffers
                .iter()
                .map(|b| b.length)
                .sum::<usize>()
                .cast_signed();
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
