//! The options and the addresses of sockets: `setsockopt`, `getsockopt`, `getsockname` and
//! `getpeername`.

use core::ffi::{c_int, c_uint, c_void};

use super::files;
use super::kernel_writes::admit;
use crate::base::sys::{self, number};
use crate::execution::{self, active};

const SOL_SOCKET: c_int = 1;
const SO_ERROR: c_int = 4;

/// Whether the option influences calls on the peer of the socket, too: the sizes of its buffers
/// (`SO_SNDBUF`, `SO_RCVBUF`, and the two options that force them).
fn concerns_peer(level: c_int, name: c_int) -> bool {
    level == SOL_SOCKET && matches!(name, 7 | 8 | 32 | 33)
}

/// libc's `setsockopt`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setsockopt(
    socket: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: c_uint,
) -> c_int {
    let arguments = [
        socket as usize,
        level as usize,
        name as usize,
        value as usize,
        length as usize,
        0,
    ];
    if active() && concerns_peer(level, name) {
        execution::rules_change();
    }
    // SAFETY: the caller's arguments are those of the system call.
    files::change(socket, || unsafe {
        sys::syscall(number::SETSOCKOPT, arguments)
    }) as c_int
}

/// libc's `getsockopt`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsockopt(
    socket: c_int,
    level: c_int,
    name: c_int,
    out: *mut c_void,
    length: *mut c_uint,
) -> c_int {
    // SAFETY: the caller passes the length of the memory at `out`.
    unsafe { admit_result(out, length) };
    let arguments = [
        socket as usize,
        level as usize,
        name as usize,
        out as usize,
        length as usize,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    let get = || unsafe { sys::syscall(number::GETSOCKOPT, arguments) };
    let result = if (level, name) == (SOL_SOCKET, SO_ERROR) {
        // The kernel forgets the error when it returns it.
        files::change(socket, get)
    } else {
        files::inspect(socket, get)
    };
    result as c_int
}

/// Lets the kernel write a result to `out`, and its length to `length`.
///
/// # Safety
/// `length` is null, or contains the number of bytes at `out`.
unsafe fn admit_result(out: *mut c_void, length: *mut c_uint) {
    if active() && !length.is_null() {
        // SAFETY: the caller's promise.
        admit(out as usize, unsafe { length.read() } as usize);
        admit(length as usize, size_of::<c_uint>());
    }
}

macro_rules! addresses {
    ($($name:ident is $number:ident;)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            pub(super) unsafe extern "C" fn $name(
                socket: c_int,
                out: *mut c_void,
                length: *mut c_uint,
            ) -> c_int {
                let arguments = [socket as usize, out as usize, length as usize, 0, 0, 0];
                // SAFETY: the caller's arguments are those of the system call.
                unsafe {
                    admit_result(out, length);
                    files::inspect_address(socket, || sys::syscall(number::$number, arguments))
                        as c_int
                }
            }
        )*
    };
}

addresses! {
    getsockname is GETSOCKNAME;
    getpeername is GETPEERNAME;
}
