//! Writing: `write`, `send` and similar functions.

use core::ffi::{c_int, c_uint, c_void};

use super::buffers::{Buffer, MSG_DONTWAIT, Message, Part, kernel_reads, list_at, size_of_all};
use super::call::Call;
use super::failing::{self, Direction};
use super::files;
use crate::base::sys::{self, number};
use crate::execution::{Op, active};
use crate::platform::descriptor::{self, Kind, POLLOUT};

/// The number of bytes that can be written to a ready pipe without blocking.
const PIPE_BUF: usize = 4096;
/// The highest number of buffers in a message that the kernel accepts.
const MOST_BUFFERS: usize = 1024;
const EMSGSIZE: isize = 90;

/// Writes `buffers` for a task. If the descriptor is a blocking one, waits until all of these
/// buffers are written. Otherwise writes as much as possible. Returns the number of written bytes.
/// If the call fails, sets `errno` and returns -1.
unsafe fn write_call(descriptor: c_int, buffers: &[Buffer]) -> isize {
    kernel_reads(buffers);
    let identity = descriptor::look(descriptor);
    if identity.kind == Kind::Socket {
        let mut message = Message::of(buffers);
        // SAFETY: the caller's buffers are readable.
        return unsafe { send_message(descriptor, &mut message, 0) };
    }
    let size = size_of_all(buffers);
    let limit = match failing::transfer(descriptor, identity.kind, Direction::Write, size) {
        Ok(limit) => limit,
        Err(error) => return sys::libc_result(error),
    };
    let mut left = Remaining::of(buffers, limit);
    if matches!(identity.kind, Kind::File | Kind::Closed) {
        let (at, count) = left.next(usize::MAX);
        let arguments = [descriptor as usize, at as usize, count, 0, 0, 0];
        // SAFETY: as above.
        return files::write(descriptor, || unsafe {
            sys::syscall(number::WRITEV, arguments)
        });
    }
    let is_pipe = identity.kind == Kind::Pipe;
    let call = Call::begin(Op::DescriptorWrite, descriptor, identity, POLLOUT);
    // The kernel writes nothing to a pipe without a wait, even if the pipe is full.
    let mut call = call.unblocked(is_pipe && limit == 0);
    let most = if limit <= PIPE_BUF || call.blocks() {
        PIPE_BUF
    } else {
        usize::MAX
    };
    let result = loop {
        let (at, count) = left.next(most);
        let length = most.min(limit - left.done);
        // SAFETY: as above.
        let write = || unsafe { write_list(descriptor, at, count) };
        let result = if is_pipe && call.blocks() {
            call.carry_out(|| {
                if descriptor::is_ready(descriptor, POLLOUT) {
                    write()
                } else {
                    // SAFETY: as above.
                    unsafe { write_to_last_page(descriptor, at, count) }
                }
            })
        } else {
            call.carry_out_when_ready(write)
        };
        let is_short = result < length.cast_signed();
        if left.is_done_after(result) || is_short && !call.blocks() {
            break left.result(result);
        }
        call.progressed();
    };
    call.end(result)
}

/// Writes the list of `count` buffers at `at`. Objects such as `eventfd` tell a list of one buffer
/// from a buffer.
unsafe fn write_list(descriptor: c_int, at: *const Buffer, count: usize) -> isize {
    // SAFETY: the caller's buffers are readable.
    unsafe {
        if count == 1 {
            let Buffer { start, length } = *at;
            return sys::syscall(
                number::WRITE,
                [descriptor as usize, start as usize, length, 0, 0, 0],
            );
        }
        sys::syscall(
            number::WRITEV,
            [descriptor as usize, at as usize, count, 0, 0, 0],
        )
    }
}

/// Writes a list of buffers to a pipe that is full for `poll`. If the last page of the pipe has
/// room, the kernel appends the bytes there. Otherwise returns `-EAGAIN`.
unsafe fn write_to_last_page(pipe: c_int, at: *const Buffer, count: usize) -> isize {
    const RWF_NOWAIT: usize = 8;
    const EOPNOTSUPP: isize = 95;
    const POSITION: usize = usize::MAX;
    let arguments = [pipe as usize, at as usize, count, POSITION, 0, RWF_NOWAIT];
    // SAFETY: the caller's buffers are readable.
    let result = unsafe { sys::syscall(number::PWRITEV2, arguments) };
    // The kernel does not have this call for pipes with a name.
    if result == -EOPNOTSUPP {
        -(sys::EAGAIN as isize)
    } else {
        result
    }
}

/// The progress of a call that writes a list of buffers.
struct Remaining<'a> {
    buffers: &'a [Buffer],
    /// The number of bytes of the list.
    size: usize,
    /// The number of bytes of the whole call. It is less than `size` for a short transfer.
    limit: usize,
    /// The number of bytes that were written.
    done: usize,
    room: Part,
}

impl<'a> Remaining<'a> {
    fn of(buffers: &'a [Buffer], limit: usize) -> Self {
        Self {
            buffers,
            size: size_of_all(buffers),
            limit,
            done: 0,
            room: Part::new(),
        }
    }

    /// Returns a list of at most `most` of the bytes that are left to write: its address and its
    /// length. This is the caller's list if nothing is left out, so that all of it is written at
    /// once.
    fn next(&mut self, most: usize) -> (*const Buffer, usize) {
        if self.done == 0 && self.limit == self.size && self.size <= most {
            return (self.buffers.as_ptr(), self.buffers.len());
        }
        let end = self.limit.min(self.done.saturating_add(most));
        let part = self.room.of(self.buffers, self.done..end);
        (part.as_ptr(), part.len())
    }

    /// Records the `result` of a system call that has written a part of the buffers. Returns
    /// whether the whole call is done, because the system call failed or all bytes are written.
    fn is_done_after(&mut self, result: isize) -> bool {
        let Ok(written) = usize::try_from(result) else {
            return true;
        };
        self.done += written;
        self.done >= self.limit
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
    // SAFETY: the caller passes a list of `count` buffers.
    let buffers = unsafe { list_at(message.buffers, message.count) };
    let size = size_of_all(buffers);
    let limit = match failing::transfer(socket, identity.kind, Direction::Write, size) {
        Ok(limit) => limit,
        Err(error) => return sys::libc_result(error),
    };
    let mut call = Call::begin(Op::DescriptorWrite, socket, identity, POLLOUT).unblocked(unblocked);
    let mut left = Remaining::of(buffers, limit);
    let result = loop {
        let (list, count) = left.next(usize::MAX);
        (message.buffers, message.count) = (list.cast_mut(), count);
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
        let buffers = [Buffer::new(bytes, length)];
        kernel_reads(&buffers);
        let mut message = Message::of(&buffers);
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
        if own.count > MOST_BUFFERS {
            return sys::libc_result(-EMSGSIZE);
        }
        kernel_reads(list_at(own.buffers, own.count));
        send_message(socket, &mut own, flags)
    }
}
