//! The low-water mark of a socket: the number of bytes that it must have to count as readable.

use core::ffi::c_int;

use crate::base::sys::{self, number};

const SOL_SOCKET: usize = 1;
const SO_RCVLOWAT: usize = 18;
const SIZE: u32 = 4;

/// Calls `work` while `socket` counts as readable only if it has `count` bytes or has ended.
pub(super) fn with_low_water<R>(socket: c_int, count: usize, work: impl FnOnce() -> R) -> R {
    let (mut before, mut size) = (1, SIZE);
    let (at, size_at) = (&raw mut before as usize, &raw mut size as usize);
    let arguments = [socket as usize, SOL_SOCKET, SO_RCVLOWAT, at, size_at, 0];
    // SAFETY: room for a number, and the size of this room.
    unsafe { sys::syscall(number::GETSOCKOPT, arguments) };
    set(socket, c_int::try_from(count).unwrap_or(c_int::MAX));
    let result = work();
    set(socket, before);
    result
}

fn set(socket: c_int, count: c_int) {
    let at = &raw const count as usize;
    let arguments = [
        socket as usize,
        SOL_SOCKET,
        SO_RCVLOWAT,
        at,
        SIZE as usize,
        0,
    ];
    // SAFETY: a readable number of this size.
    unsafe { sys::syscall(number::SETSOCKOPT, arguments) };
}
