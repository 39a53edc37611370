//! Reading: `read`, `recv` and similar functions.

use core::ffi::{c_int, c_uint, c_void};
use core::slice;

use super::buffers::{Buffer, MSG_DONTWAIT, Message, admit_buffers, kernel_wrote};
use super::call::{Call, admit};
use super::failing::{self, Direction};
use super::{files, random};
use crate::base::sys::{self, number};
use crate::execution::{Op, active};
use crate::platform::descriptor::{self, Kind, POLLIN};

const MSG_WAITALL: c_int = 0x100;

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
    let reading = Call::begin(Op::DescriptorRead, descriptor, identity, POLLIN);
    let mut reading = reading.unblocked(unblocked);
    let result = reading.carry_out_when_ready(call);
    reading.end(result)
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
    let unblocked = flags & MSG_DONTWAIT != 0;
    let identity = descriptor::look(socket);
    let length = match failing::transfer(socket, identity.kind, Direction::Read, length) {
        Ok(most) => most,
        Err(error) => return sys::libc_result(error),
    };
    let mut call = Call::begin(Op::DescriptorRead, socket, identity, POLLIN).unblocked(unblocked);
    let all = flags & MSG_WAITALL != 0 && !unblocked;
    let flags = flags & !MSG_WAITALL | MSG_DONTWAIT;
    let mut done = 0;
    let result = loop {
        let result = call.carry_out(|| receive(length, done, flags));
        if result > 0 {
            done += result as usize;
        }
        if result <= 0 || !all || done == length {
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
        let receive = |flags: c_int| {
            let arguments = [socket as usize, message as usize, flags as usize, 0, 0, 0];
            sys::syscall(number::RECVMSG, arguments)
        };
        if !active() {
            return sys::libc_result(receive(flags));
        }
        (*message).admit();
        let unblocked = flags & MSG_DONTWAIT != 0;
        let identity = descriptor::look(socket);
        let mut call =
            Call::begin(Op::DescriptorRead, socket, identity, POLLIN).unblocked(unblocked);
        let result = call.carry_out(|| receive(flags & !MSG_WAITALL | MSG_DONTWAIT));
        let result = call.end(result);
        if result <= 0 {
            return result;
        }
        let buffers = slice::from_raw_parts((*message).buffers, (*message).count);
        kernel_wrote(buffers, result)
    }
}
