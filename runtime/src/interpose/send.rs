//! Writing: `write`, `send` and similar functions.

use core::ffi::{c_int, c_uint, c_void};

use super::buffers::{Buffer, MSG_DONTWAIT, Message, kernel_reads, shorten, size_of_all};
use super::call::Call;
use super::failing::{self, Direction};
use super::files;
use crate::base::sys::{self, number};
use crate::execution::{Op, active};
use crate::platform::descriptor::{self, Kind, POLLOUT};

/// The number of bytes that can be written to a ready pipe without blocking.
const PIPE_BUF: usize = 4096;
/// The highest number of buffers that one call writes. Callers must expect that a call writes only
/// a part of a list, because the kernel may do so, too.
const MOST_BUFFERS: usize = 64;

/// Writes the first [`MOST_BUFFERS`] of `buffers` for a task. If the descriptor is a blocking one,
/// waits until all of these buffers are written. Otherwise writes as much as possible. Returns the
/// number of written bytes. If the call fails, sets `errno` and returns -1.
unsafe fn write_call(descriptor: c_int, buffers: &[Buffer]) -> isize {
    let mut left = [Buffer {
        start: core::ptr::null_mut(),
        length: 0,
    }; MOST_BUFFERS];
    let count = buffers.len().min(MOST_BUFFERS);
    left[..count].copy_from_slice(&buffers[..count]);
    let left = &mut left[..count];
    kernel_reads(left);
    let identity = descriptor::look(descriptor);
    if identity.kind != Kind::Socket {
        let size = size_of_all(left);
        match failing::transfer(descriptor, identity.kind, Direction::Write, size) {
            Ok(most) => shorten(left, most),
            Err(error) => return sys::libc_result(error),
        }
    }
    match identity.kind {
        Kind::File | Kind::Closed => {
            let (at, count) = (left.as_ptr() as usize, left.len());
            let arguments = [descriptor as usize, at, count, 0, 0, 0];
            // SAFETY: the caller's buffers are readable.
            files::write(descriptor, || unsafe {
                sys::syscall(number::WRITEV, arguments)
            })
        }
        Kind::Socket => {
            let mut message = Message::of(left);
            // SAFETY: as above.
            unsafe { send_message(descriptor, &mut message, 0) }
        }
        Kind::Pipe | Kind::Device | Kind::Anonymous => {
            let mut call = Call::begin(Op::DescriptorWrite, descriptor, identity, POLLOUT);
            let mut next = Remaining::of(left);
            let most = if next.total <= PIPE_BUF || call.blocks() {
                PIPE_BUF
            } else {
                usize::MAX
            };
            let result = loop {
                let (start, length) = next.first(most);
                // SAFETY: as above.
                let result = call.carry_out_when_ready(|| unsafe {
                    let arguments = [descriptor as usize, start as usize, length, 0, 0, 0];
                    sys::syscall(number::WRITE, arguments)
                });
                let is_short = result < length.cast_signed();
                if next.is_done_after(result) || is_short && !call.blocks() {
                    break next.result(result);
                }
                call.progressed();
            };
            call.end(result)
        }
    }
}

/// The progress of a call that writes a list of buffers.
struct Remaining<'a> {
    buffers: &'a mut [Buffer],
    /// The index of the first buffer that is left to write.
    at: usize,
    /// The number of bytes that were written.
    done: usize,
    /// The number of bytes of the whole call.
    total: usize,
}

impl<'a> Remaining<'a> {
    fn of(buffers: &'a mut [Buffer]) -> Self {
        let total = size_of_all(buffers);
        let mut new = Self {
            buffers,
            at: 0,
            done: 0,
            total,
        };
        new.skip_empty();
        new
    }

    fn skip_empty(&mut self) {
        while self.at + 1 < self.buffers.len() && self.buffers[self.at].length == 0 {
            self.at += 1;
        }
    }

    /// Returns the address and the length of the first buffer that is left to write. The length is
    /// at most `most`.
    fn first(&self, most: usize) -> (*mut u8, usize) {
        let first = self.buffers.get(self.at);
        first.map_or((core::ptr::null_mut(), 0), |buffer| {
            (buffer.start, buffer.length.min(most))
        })
    }

    /// Records the `result` of a system call that has written a part of the buffers. Returns
    /// whether the whole call is done, because the system call failed or all bytes are written.
    fn is_done_after(&mut self, result: isize) -> bool {
        let Ok(mut written) = usize::try_from(result) else {
            return true;
        };
        self.done += written;
        while let Some(buffer) = self.buffers.get_mut(self.at) {
            let part = written.min(buffer.length);
            // SAFETY: within the buffer, or at its end.
            buffer.start = unsafe { buffer.start.add(part) };
            buffer.length -= part;
            written -= part;
            if buffer.length > 0 || self.at + 1 == self.buffers.len() {
                break;
            }
            self.at += 1;
        }
        self.done >= self.total
    }

    /// The result of the whole call, if its last system call returned `last`: the number of
    /// written bytes, or `last` if none were written.
    fn result(&self, last: isize) -> isize {
        if self.done > 0 {
            self.done.cast_signed()
        } else {
            last
        }
    }
}

/// Sends `message` for a task: all of it if the call may block, otherwise as much as possible. A
/// datagram is sent as a whole or not at all. For a stream, several system calls may be needed.
unsafe fn send_message(socket: c_int, message: &mut Message, flags: c_int) -> isize {
    let unblocked = flags & MSG_DONTWAIT != 0;
    let identity = descriptor::look(socket);
    // SAFETY: the caller passes a list of `count` buffers, a copy of the program's.
    let buffers = unsafe { core::slice::from_raw_parts_mut(message.buffers, message.count) };
    let size = size_of_all(buffers);
    match failing::transfer(socket, identity.kind, Direction::Write, size) {
        Ok(most) => shorten(buffers, most),
        Err(error) => return sys::libc_result(error),
    }
    let mut call = Call::begin(Op::DescriptorWrite, socket, identity, POLLOUT).unblocked(unblocked);
    let mut left = Remaining::of(buffers);
    let result = loop {
        let rest = &mut left.buffers[left.at..];
        (message.buffers, message.count) = (rest.as_mut_ptr(), rest.len());
        let at = core::ptr::from_mut(message) as usize;
        let flags = (flags | MSG_DONTWAIT) as usize;
        // SAFETY: the caller's message is that of the system call.
        let result = call.carry_out(|| unsafe {
            sys::syscall(number::SENDMSG, [socket as usize, at, flags, 0, 0, 0])
        });
        if left.is_done_after(result) || !call.blocks() {
            break left.result(result);
        }
        // The first part of the message had the control data.
        message.control_length = 0;
        call.progressed();
    };
    call.end(result)
}

/// Writes `buffers` for a task to a descriptor other than those of standard output and standard
/// error. The runtime captures the output to these two: see [`super::output`].
pub(super) unsafe fn write_all(descriptor: c_int, buffers: &[Buffer]) -> isize {
    // SAFETY: the caller's buffers are readable.
    unsafe { write_call(descriptor, buffers) }
}

/// libc's `sendto`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendto(
    socket: c_int,
    bytes: *const c_void,
    length: usize,
    flags: c_int,
    address: *const c_void,
    address_length: c_uint,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let arguments = [
                socket as usize,
                bytes as usize,
                length,
                flags as usize,
                address as usize,
                address_length as usize,
            ];
            return sys::libc_result(sys::syscall(number::SENDTO, arguments));
        }
        let mut buffers = [Buffer {
            start: bytes.cast_mut().cast(),
            length,
        }];
        kernel_reads(&buffers);
        let mut message = Message::of(&mut buffers);
        (message.name, message.name_length) = (address.cast_mut(), address_length);
        send_message(socket, &mut message, flags)
    }
}

/// libc's `send`.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(
    socket: c_int,
    bytes: *const c_void,
    length: usize,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { sendto(socket, bytes, length, flags, core::ptr::null(), 0) }
}

/// libc's `sendmsg`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmsg(
    socket: c_int,
    message: *const Message,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let arguments = [socket as usize, message as usize, flags as usize, 0, 0, 0];
            return sys::libc_result(sys::syscall(number::SENDMSG, arguments));
        }
        let mut own = *message;
        let mut buffers = [Buffer {
            start: core::ptr::null_mut(),
            length: 0,
        }; MOST_BUFFERS];
        let count = own.count.min(MOST_BUFFERS);
        for (at, buffer) in buffers[..count].iter_mut().enumerate() {
            *buffer = *own.buffers.add(at);
        }
        kernel_reads(&buffers[..count]);
        (own.buffers, own.count) = (buffers.as_mut_ptr(), count);
        send_message(socket, &mut own, flags)
    }
}
