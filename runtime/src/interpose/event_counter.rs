//! `eventfd_read` and `eventfd_write`.

use core::ffi::c_int;

use super::{output, receive};

/// libc's `eventfd_read`.
#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd_read(descriptor: c_int, value: *mut u64) -> c_int {
    // SAFETY: the caller passes room for the value.
    let length = unsafe { receive::read(descriptor, value.cast(), size_of::<u64>()) };
    if length == 8 { 0 } else { -1 }
}

/// libc's `eventfd_write`.
#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd_write(descriptor: c_int, value: u64) -> c_int {
    // SAFETY: the value is readable.
    let length = unsafe { output::write(descriptor, (&raw const value).cast(), size_of::<u64>()) };
    if length == 8 { 0 } else { -1 }
}
