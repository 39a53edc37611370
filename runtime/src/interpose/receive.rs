//! Reading: `read`, `recv` and similar functions.

use core::ffi::{c_int, c_uint, c_void};
use core::slice;

use super::buffers::{
    Buffer, MSG_DONTWAIT, Message, Part, admit_buffers, kernel_wrote, list_at, size_of_all,
};
use super::call::{Call, admit};
use super::failing::{self, Direction};
use super::low_water::with_low_water;
use super::{files, random};
use crate::base::sys::{self, number};
use crate::execution::{Op, active};
use crate::platform::descriptor::{self, Kind, POLLIN};
use crate::platform::socket;

/// The highest number of buffers in a list that the kernel accepts.
const MOST_BUFFERS: usize = 1024;

const MSG_PEEK: c_int = 2;
const MSG_WAITALL: c_int = 0x100;
const MSG_ERRQUEUE: c_int = 0x2000;

/// Performs a task's read from a descriptor of any kind, by the system call `number`. The caller
/// must have called [`admit`] for all memory to which the arguments point. The call does not block
/// if `unblocked` is set.
pub(super) unsafe fn read_call(
    descriptor: c_int,
    number: usize,
    mut arguments: [usize; 6],
    unblocked: bool,
) -> isize {
    let identity = descriptor::look(descriptor);
    if random::is_source(identity) {
        // SAFETY: the caller names writable memory.
        return unsafe { fill_at_random(number, arguments) };
    }
    // The third argument is a number of bytes, or the number of buffers in a list. A short
    // transfer may leave out buffers, because the kernel may also fill only some of them.
    let length = arguments[2];
    match failing::transfer(descriptor, identity.kind, Direction::Read, length) {
        Ok(most) => arguments[2] = most,
        Err(error) => return sys::libc_result(error),
    }
    // SAFETY: the caller's arguments are those of the system call.
    let call = || unsafe { sys::syscall(number, arguments) };
    if matches!(identity.kind, Kind::File | Kind::Closed) {
        return files::read(descriptor, call);
    }
    // SAFETY: the caller names a buffer or a list.
    let is_empty = || unsafe { is_empty(number, arguments) };
    let ends_at_once = matches!(identity.kind, Kind::Pipe | Kind::Socket) && is_empty();
    let reading = Call::begin(Op::DescriptorRead, descriptor, identity, POLLIN);
    let mut reading = reading.unblocked(unblocked || ends_at_once);
    let result = reading.carry_out_when_ready(call);
    reading.end(result)
}

/// Whether a read of no bytes, or of an invalid list, is asked for. From a pipe or a socket, the
/// kernel does not wait for such a read.
unsafe fn is_empty(number: usize, [_, at, length, ..]: [usize; 6]) -> bool {
    if number == number::READ {
        return length == 0;
    }
    let count = usize::try_from(length as c_int).unwrap_or(0);
    // SAFETY: the caller names a list of this length.
    count > MOST_BUFFERS || size_of_all(unsafe { list_at(at as *const Buffer, count) }) == 0
}

/// Performs a read of `/dev/random` or `/dev/urandom`. The bytes are from the execution's
/// generator of random numbers.
unsafe fn fill_at_random(number: usize, [_, at, length, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller names writable memory: a buffer, or a list of them.
    unsafe {
        if number == number::READ {
            return random::fill(at as *mut u8, length).cast_signed();
        }
        let buffers = slice::from_raw_parts(at as *const Buffer, length);
        let filled = buffers.iter().map(|b| random::fill(b.start, b.length));
        filled.sum::<usize>().cast_signed()
    }
}

/// libc's `read`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn read(descriptor: c_int, out: *mut c_void, length: usize) -> isize {
    let arguments = [descriptor as usize, out as usize, length, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            return sys::libc_result(sys::syscall(number::READ, arguments));
        }
        admit(out as usize, length);
        let result = read_call(descriptor, number::READ, arguments, false);
        kernel_wrote(&[Buffer::new(out, length)], result)
    }
}

/// libc's `readv`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readv(
    descriptor: c_int,
    buffers: *const c_void,
    count: c_int,
) -> isize {
    let arguments = [
        descriptor as usize,
        buffers as usize,
        count as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            return sys::libc_result(sys::syscall(number::READV, arguments));
        }
        let count = usize::try_from(count).unwrap_or(0);
        admit_buffers(buffers.cast(), count);
        let result = read_call(descriptor, number::READV, arguments, false);
        if result <= 0 {
            return result;
        }
        kernel_wrote(slice::from_raw_parts(buffers.cast(), count), result)
    }
}

/// The number of bytes that a call on a socket waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// The bytes of one message, or the first bytes of a stream.
    Some,
    /// All bytes that the call asks for. They are received in parts.
    All,
    /// All bytes that the call asks for. They are only looked at, so they must come in one part.
    AllAtOnce,
}

impl Amount {
    fn of(socket: c_int, flags: c_int, unblocked: bool) -> Self {
        if flags & MSG_WAITALL == 0 || unblocked || !socket::is_stream(socket) {
            return Self::Some;
        }
        match (flags & MSG_PEEK != 0, socket::is_tcp(socket)) {
            (false, _) => Self::All,
            (true, true) => Self::AllAtOnce,
            // Streams of other kinds do not wait for more bytes to look at.
            (true, false) => Self::Some,
        }
    }

    /// Carries out `call` by `receive`, which must not block and asks for `length` bytes.
    fn carry_out(
        self,
        call: &mut Call,
        length: usize,
        mut receive: impl FnMut() -> isize,
    ) -> isize {
        if self != Self::AllAtOnce {
            return call.carry_out(receive);
        }
        let socket = call.descriptor;
        let result = with_low_water(socket, length, || call.carry_out_when_ready(&mut receive));
        if result == -(sys::EAGAIN as isize) {
            // The time is over. The first bytes may be there.
            return receive();
        }
        result
    }
}

/// Whether a call on a socket returns at once whether or not there is data. Local sockets have no
/// queue of errors and ignore the flag for it.
fn never_blocks(socket: c_int, flags: c_int) -> bool {
    flags & MSG_DONTWAIT != 0 || flags & MSG_ERRQUEUE != 0 && !is_local(socket)
}

/// Whether the socket is one of `AF_UNIX`.
fn is_local(socket: c_int) -> bool {
    const SOL_SOCKET: usize = 1;
    const SO_DOMAIN: usize = 39;
    const AF_UNIX: c_int = 1;
    let (mut domain, mut size) = (0, size_of::<c_int>() as c_uint);
    let (at, size_at) = (&raw mut domain as usize, &raw mut size as usize);
    let arguments = [socket as usize, SOL_SOCKET, SO_DOMAIN, at, size_at, 0];
    // SAFETY: room for a number, and the size of this room.
    unsafe { sys::syscall(number::GETSOCKOPT, arguments) };
    domain == AF_UNIX
}

/// libc's `recvfrom`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvfrom(
    socket: c_int,
    out: *mut c_void,
    length: usize,
    flags: c_int,
    address: *mut c_void,
    address_length: *mut c_uint,
) -> isize {
    let receive = |length: usize, done: usize, flags: c_int| {
        let arguments = [
            socket as usize,
            out as usize + done,
            length - done,
            flags as usize,
            address as usize,
            address_length as usize,
        ];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::RECVFROM, arguments) }
    };
    if !active() {
        return sys::libc_result(receive(length, 0, flags));
    }
    admit(out as usize, length);
    if !address_length.is_null() {
        admit(address_length as usize, size_of::<c_uint>());
        // SAFETY: the caller passes null or a length.
        admit(address as usize, unsafe { *address_length } as usize);
    }
    let unblocked = never_blocks(socket, flags);
    let identity = descriptor::look(socket);
    let length = match failing::transfer(socket, identity.kind, Direction::Read, length) {
        Ok(most) => most,
        Err(error) => return sys::libc_result(error),
    };
    let mut call = Call::begin(Op::DescriptorRead, socket, identity, POLLIN).unblocked(unblocked);
    let amount = Amount::of(socket, flags, unblocked);
    let flags = flags & !MSG_WAITALL | MSG_DONTWAIT;
    let mut done = 0;
    let result = loop {
        let result = amount.carry_out(&mut call, length, || receive(length, done, flags));
        if result > 0 {
            done += result as usize;
        }
        if result <= 0 || amount != Amount::All || done >= length {
            break if done > 0 { done.cast_signed() } else { result };
        }
        call.progressed();
    };
    kernel_wrote(&[Buffer::new(out, length)], call.end(result))
}

/// libc's `recv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(socket: c_int, out: *mut c_void, length: usize, flags: c_int) -> isize {
    let null = core::ptr::null_mut();
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { recvfrom(socket, out, length, flags, null, null.cast()) }
}

/// libc's `recvmsg`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmsg(
    socket: c_int,
    message: *mut Message,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let receive = |message: *mut Message, flags: c_int| {
            let arguments = [socket as usize, message as usize, flags as usize, 0, 0, 0];
            sys::syscall(number::RECVMSG, arguments)
        };
        if !active() {
            return sys::libc_result(receive(message, flags));
        }
        (*message).admit();
        let unblocked = never_blocks(socket, flags);
        let identity = descriptor::look(socket);
        let mut call =
            Call::begin(Op::DescriptorRead, socket, identity, POLLIN).unblocked(unblocked);
        let amount = Amount::of(socket, flags, unblocked);
        let flags = flags & !MSG_WAITALL | MSG_DONTWAIT;
        let asked = *message;
        let is_valid = asked.count <= MOST_BUFFERS;
        let buffers = list_at(asked.buffers, if is_valid { asked.count } else { 0 });
        let length = size_of_all(buffers);
        let mut room = Part::new();
        let (mut got, mut done) = (asked, 0);
        let result = loop {
            let mut part = asked;
            let result = amount.carry_out(&mut call, length, || {
                part = asked;
                if done > 0 {
                    let rest = room.of(buffers, done..length);
                    (part.buffers, part.count) = (rest.as_mut_ptr(), rest.len());
                }
                receive(&raw mut part, flags)
            });
            if result > 0 || result == 0 && done == 0 {
                got = part;
                done += result as usize;
            }
            // As in the kernel, bytes after control data belong to the next call.
            let has_control = got.control_length > 0;
            if result <= 0 || amount != Amount::All || done >= length || has_control {
                break if done > 0 { done.cast_signed() } else { result };
            }
            call.progressed();
        };
        if result >= 0 {
            (*message).name_length = got.name_length;
            (*message).control_length = got.control_length;
            (*message).flags = got.flags;
        }
        kernel_wrote(buffers, call.end(result))
    }
}
