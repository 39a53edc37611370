//! Random numbers. They are the same in every execution, so that the order of a `HashMap` repeats.

use core::ffi::{c_int, c_uint, c_void};

use crate::base::sys::{self, number};
use crate::execution::{self, active};
use crate::platform::descriptor::{Identity, Kind};

/// Fills the `length` bytes at `out` with random numbers of the execution's generator. Returns
/// `length`.
pub(super) unsafe fn fill(out: *mut u8, length: usize) -> usize {
    if let Some(execution) = execution::running() {
        for at in 0..length {
            let byte = execution.with(|it| it.entropy.next()) as u8;
            // SAFETY: the caller gives `length` writable bytes.
            unsafe { out.add(at).write(byte) };
        }
    }
    length
}

/// Whether the descriptor with this identity is `/dev/random` or `/dev/urandom`.
pub(super) fn is_source(identity: Identity) -> bool {
    const RANDOM: u64 = 1 << 8 | 8;
    const URANDOM: u64 = 1 << 8 | 9;
    identity.kind == Kind::Device && matches!(identity.device, RANDOM | URANDOM)
}

/// libc's `getrandom`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(out: *mut c_void, length: usize, flags: c_uint) -> isize {
    // SAFETY: the caller gives `length` writable bytes.
    unsafe {
        if active() {
            return fill(out.cast(), length).cast_signed();
        }
        let arguments = [out as usize, length, flags as usize, 0, 0, 0];
        sys::libc_result(sys::syscall(number::GETRANDOM, arguments))
    }
}

/// libc's `getentropy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(out: *mut c_void, length: usize) -> c_int {
    // SAFETY: as `getrandom`.
    let filled = unsafe { getrandom(out, length, 0) };
    if filled == length.cast_signed() {
        0
    } else {
        -1
    }
}
