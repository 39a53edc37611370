//! The arguments of calls that transfer bytes: buffers, lists of buffers, and messages.

use core::ffi::{c_int, c_uint, c_void};
use core::ops::Range;
use core::slice;

use super::call::admit;
use crate::execution::marked_line;
use crate::monitor::race;

/// The flag of `recv` and `send` that forbids the call to block.
pub(super) const MSG_DONTWAIT: c_int = 0x40;

/// C's `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) start: *mut u8,
    pub(super) length: usize,
}

/// C's `struct msghdr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) name: *mut c_void,
    pub(super) name_length: c_uint,
    pub(super) buffers: *mut Buffer,
    pub(super) count: usize,
    control: *mut c_void,
    pub(super) control_length: usize,
    pub(super) flags: c_int,
}

impl Buffer {
    pub(super) const fn new(start: *const c_void, length: usize) -> Self {
        let start = start.cast_mut().cast();
        Self { start, length }
    }
}

impl Message {
    /// A message to send, without an address.
    pub(super) const fn of(buffers: &[Buffer]) -> Self {
        Self {
            name: core::ptr::null_mut(),
            name_length: 0,
            buffers: buffers.as_ptr().cast_mut(),
            count: buffers.len(),
            control: core::ptr::null_mut(),
            control_length: 0,
            flags: 0,
        }
    }

    /// Lets the kernel write to the message, and to all memory to which the message points.
    pub(super) unsafe fn admit(&mut self) {
        admit(core::ptr::from_mut(self).addr(), size_of::<Self>());
        admit(self.name.addr(), self.name_length as usize);
        admit(self.control.addr(), self.control_length);
        // SAFETY: the caller of `recvmsg` passes a list of the stated length.
        unsafe { admit_buffers(self.buffers, self.count) };
    }
}

/// The number of bytes in some buffers.
pub(super) fn size_of_all(buffers: &[Buffer]) -> usize {
    buffers.iter().map(|buffer| buffer.length).sum()
}

/// The list of `count` buffers at `at`, which may be null if `count` is 0.
///
/// # Safety
///
/// There must be such a list, and it must not change while the result is used.
pub(super) unsafe fn list_at<'a>(at: *const Buffer, count: usize) -> &'a [Buffer] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as stated above.
    unsafe { slice::from_raw_parts(at, count) }
}

/// Room for a part of a list of buffers.
pub(super) struct Part([Buffer; Self::MOST]);

impl Part {
    /// The highest number of buffers in a part.
    const MOST: usize = 64;

    pub(super) const fn new() -> Self {
        Self([Buffer::new(core::ptr::null(), 0); Self::MOST])
    }

    /// Returns the buffers of `list` that hold the bytes in `range`. If these are too many, returns
    /// only the first of them.
    pub(super) fn of(&mut self, list: &[Buffer], range: Range<usize>) -> &mut [Buffer] {
        let (mut skipped, mut left) = (range.start, range.len());
        let mut count = 0;
        for buffer in list {
            if left == 0 || count == Self::MOST {
                break;
            }
            if skipped >= buffer.length {
                skipped -= buffer.length;
                continue;
            }
            let length = (buffer.length - skipped).min(left);
            // SAFETY: within the buffer.
            let start = unsafe { buffer.start.add(skipped) };
            self.0[count] = Buffer { start, length };
            count += 1;
            left -= length;
            skipped = 0;
        }
        &mut self.0[..count]
    }
}

/// Lets the kernel write to all buffers of a list.
pub(super) unsafe fn admit_buffers(buffers: *const Buffer, count: usize) {
    for at in 0..count {
        // SAFETY: the caller passes a list of the stated length.
        let buffer = unsafe { *buffers.add(at) };
        admit(buffer.start.addr(), buffer.length);
    }
}

/// Reports to the race detector that the kernel is about to read `buffers` for the running task.
pub(super) fn kernel_reads(buffers: &[Buffer]) {
    for buffer in buffers {
        report(buffer.start.addr(), buffer.length, false);
    }
}

/// Reports to the race detector that the kernel has written the first bytes of `buffers` for the
/// running task. `count` is their number, or negative if the call failed. Must be called after the
/// event of the call, which orders the accesses of the sender before it. Returns `count`.
pub(super) fn kernel_wrote(buffers: &[Buffer], count: isize) -> isize {
    let mut left = usize::try_from(count).unwrap_or(0);
    for buffer in buffers {
        let length = buffer.length.min(left);
        report(buffer.start.addr(), length, true);
        left -= length;
    }
    count
}

/// Reports an access, with the line of the `preempt` code that made the call. If this line is not
/// known, the access is not reported.
fn report(address: usize, length: usize, is_write: bool) {
    if length != 0
        && race::is_watched()
        && !race::is_private(address, length)
        && let Some(site) = marked_line()
    {
        race::report_access_of_library(address, length, is_write, site);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the buffers with the bytes in `range`, of a list of such lengths.
    fn lengths(list: &[usize], range: Range<usize>) -> Vec<usize> {
        let bytes = [0u8; 64];
        let at = |&length| Buffer::new(bytes.as_ptr().cast(), length);
        let list: Vec<Buffer> = list.iter().map(at).collect();
        let mut room = Part::new();
        let part = room.of(&list, range);
        part.iter().map(|buffer| buffer.length).collect()
    }

    #[test]
    fn a_part_has_the_bytes_of_the_range() {
        assert_eq!(lengths(&[3, 0, 4, 5], 0..12), [3, 4, 5]);
        assert_eq!(lengths(&[3, 0, 4, 5], 3..12), [4, 5]);
        assert_eq!(lengths(&[3, 0, 4, 5], 1..6), [2, 3]);
        assert_eq!(lengths(&[3, 0, 4, 5], 8..8), [0; 0]);
        assert_eq!(lengths(&[1; 100], 2..90).len(), Part::MOST);
    }
}
