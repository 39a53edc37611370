//! The creation of pipes and sockets: `pipe`, `socketpair` and `socket`.
//!
//! A new pipe or socket is named after the task that creates it, because the numbers that the
//! kernel assigns differ between executions.

use core::ffi::c_int;

use super::kernel_writes::admit;
use crate::base::sys::{self, number};
use crate::execution::{active, name_descriptor};

/// Performs the system call `number`, which stores two new descriptors in `ends`.
///
/// # Safety
/// The arguments are those of the system call.
unsafe fn create_two(number: usize, arguments: [usize; 6], ends: *mut c_int) -> c_int {
    admit(ends as usize, 2 * size_of::<c_int>());
    // SAFETY: the caller's promise; a successful call has stored two descriptors.
    unsafe {
        let result = sys::syscall(number, arguments);
        if result >= 0 && active() {
            name_descriptor(ends.read());
            name_descriptor(ends.add(1).read());
        }
        sys::libc_result(result) as c_int
    }
}

/// libc's `pipe2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    let arguments = [ends as usize, flags as usize, 0, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { create_two(number::PIPE2, arguments, ends) }
}

/// libc's `pipe`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { pipe2(ends, 0) }
}

/// libc's `socketpair`.
#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    let (domain, kind, protocol) = (domain as usize, kind as usize, protocol as usize);
    let arguments = [domain, kind, protocol, ends as usize, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { create_two(number::SOCKETPAIR, arguments, ends) }
}

/// libc's `socket`.
#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let arguments = [domain as usize, kind as usize, protocol as usize, 0, 0, 0];
    // SAFETY: no memory is passed.
    let result = unsafe { sys::syscall(number::SOCKET, arguments) };
    if result >= 0 && active() {
        name_descriptor(result as c_int);
    }
    sys::libc_result(result) as c_int
}
