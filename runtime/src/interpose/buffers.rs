//! The arguments of calls that transfer bytes: buffers, lists of buffers, and messages.

use core::ffi::{c_int, c_uint, c_void};

use super::call::admit;

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
    flags: c_int,
}

impl Message {
    pub(super) const fn of(buffers: &mut [Buffer]) -> Self {
        Self {
            name: core::ptr::null_mut(),
            name_length: 0,
            buffers: buffers.as_mut_ptr(),
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

/// Shortens a list of buffers to its first `left` bytes. Later buffers become empty.
pub(super) fn shorten(buffers: &mut [Buffer], mut left: usize) {
    for buffer in buffers {
        buffer.length = buffer.length.min(left);
        left -= buffer.length;
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
