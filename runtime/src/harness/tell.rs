//! Lines to the supervisor from the process that runs the execution.

use core::ffi::c_int;
use std::os::fd::AsRawFd;

use crate::base::sys;
use crate::engine::engine;

/// From now on [`line`] writes to this file. Before the explorer is forked.
pub(super) fn to(out: &impl AsRawFd) {
    // SAFETY: this process alone uses the engine.
    unsafe { (*engine()).exploration.told_to = out.as_raw_fd() };
}

/// Tells a line. It is short enough to be written at once: the zygote tells lines, too.
pub(super) fn line(text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(b'\n');
    all(&bytes);
}

/// Writes `bytes`, a line with its end.
pub(super) fn all(bytes: &[u8]) {
    // SAFETY: a plain number.
    let descriptor: c_int = unsafe { (*engine()).exploration.told_to };
    let (at, length) = (bytes.as_ptr().addr(), bytes.len());
    // SAFETY: readable bytes. A supervisor that is gone needs no answer.
    unsafe {
        sys::syscall(
            sys::number::WRITE,
            [descriptor as usize, at, length, 0, 0, 0],
        )
    };
}
