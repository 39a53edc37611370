//! Output of lines to the supervisor, from the process that runs the execution.

use core::ffi::c_int;
use std::os::fd::AsRawFd;

use crate::base::memory::Place;
use crate::base::sys;
use crate::interpose;

/// The descriptor for lines to the supervisor.
pub(super) struct ExplorerOutput(c_int);

impl ExplorerOutput {
    pub(super) const NOWHERE: Self = Self(-1);
}

/// The place of the descriptor.
pub(super) const PLACE: Place<ExplorerOutput> = Place::after(&interpose::PLACE);

/// Sets the file that [`line()`] writes to. Call it before the explorer is forked.
pub(super) fn to(out: &impl AsRawFd) {
    // SAFETY: only this process uses the engine.
    unsafe { *PLACE.get() = ExplorerOutput(out.as_raw_fd()) };
}

/// Prints a line. `text` must be so short that it is written at once, because the zygote prints
/// lines as well.
pub(super) fn line(text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(b'\n');
    all(&bytes);
}

/// Writes `bytes`, a line with its end.
pub(super) fn all(bytes: &[u8]) {
    // SAFETY: a plain number.
    let ExplorerOutput(descriptor) = unsafe { &*PLACE.get() };
    let (at, length) = (bytes.as_ptr().addr(), bytes.len());
    // SAFETY: readable bytes. If the supervisor has ended, the result does not matter.
    unsafe {
        sys::syscall(
            sys::number::WRITE,
            [*descriptor as usize, at, length, 0, 0, 0],
        )
    };
}
