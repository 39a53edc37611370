//! `splice` and `sendfile`, by which `std::io::copy` moves bytes within the kernel, and `tee`.

use core::ffi::c_int;

use super::call::{Call, wait_for};
use super::files;
use crate::base::sys::{self, number};
use crate::execution::{self, Op, active};
use crate::platform::descriptor::{self, Identity, Kind, POLLIN, POLLOUT, PollEntry};

/// The highest number of bytes that one call moves. A descriptor that is ready for output accepts
/// this number at once. Callers must continue with the rest, because these calls may always move
/// fewer bytes than requested.
const MOST: usize = 4096;
const SPLICE_F_NONBLOCK: usize = 2;

/// Moves bytes for a task from one descriptor to another by `step`, which does not block if both
/// descriptors are ready. The call does not block if `unblocked` is set.
fn move_bytes(from: c_int, to: c_int, unblocked: bool, mut step: impl FnMut() -> isize) -> isize {
    let (source, target) = (descriptor::look(from), descriptor::look(to));
    let mut step = || step_between((from, source), (to, target), unblocked, &mut step);
    match (source.kind, target.kind) {
        (Kind::File, Kind::File) => files::transfer(from, to, step),
        (Kind::File, _) => files::read(from, step),
        (_, Kind::File) => files::write(to, step),
        _ => sys::libc_result(step()),
    }
}

/// Waits until both descriptors are ready, and performs `step` for [`move_bytes`]. Returns the
/// number of moved bytes, or a negative error number.
fn step_between(
    (from, source): (c_int, Identity),
    (to, target): (c_int, Identity),
    unblocked: bool,
    step: &mut impl FnMut() -> isize,
) -> isize {
    if (source.kind, target.kind) == (Kind::File, Kind::File) {
        return step();
    }
    let object = execution::descriptor_object(from, source);
    // The event is recorded for the descriptor whose change other tasks can observe.
    let call = if target.kind == Kind::File {
        Call::begin(Op::DescriptorRead, from, source, POLLIN)
    } else {
        Call::begin(Op::DescriptorWrite, to, target, POLLOUT)
    };
    let ends = [(from, POLLIN, source), (to, POLLOUT, target)];
    let again = -(sys::EAGAIN as isize);
    let result = loop {
        let waits = ends.iter().find(|(end, wanted, identity)| {
            identity.kind != Kind::File && !descriptor::is_ready(*end, *wanted)
        });
        let Some(&(end, wanted, _)) = waits else {
            break step();
        };
        if unblocked || descriptor::is_nonblocking(end) {
            break again;
        }
        let outside = execution::is_outside(end, wanted);
        let mut entries = [PollEntry::new(end, wanted)];
        wait_for(Op::DescriptorRead, object, &mut entries, None, outside);
    };
    call.end(result);
    result
}

/// libc's `splice`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn splice(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    length: usize,
    flags: u32,
) -> isize {
    let splice = |length: usize, flags: usize| {
        let (from_offset, to_offset) = (from_offset as usize, to_offset as usize);
        let arguments = [
            from as usize,
            from_offset,
            to as usize,
            to_offset,
            length,
            flags,
        ];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::SPLICE, arguments) }
    };
    let flags = flags as usize;
    if !active() {
        return sys::libc_result(splice(length, flags));
    }
    let unblocked = flags & SPLICE_F_NONBLOCK != 0;
    move_bytes(from, to, unblocked, || {
        splice(length.min(MOST), flags | SPLICE_F_NONBLOCK)
    })
}

/// libc's `tee`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn tee(from: c_int, to: c_int, length: usize, flags: u32) -> isize {
    let tee = |length: usize, flags: usize| {
        let arguments = [from as usize, to as usize, length, flags, 0, 0];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::TEE, arguments) }
    };
    let flags = flags as usize;
    if !active() {
        return sys::libc_result(tee(length, flags));
    }
    let unblocked = flags & SPLICE_F_NONBLOCK != 0;
    move_bytes(from, to, unblocked, || {
        tee(length.min(MOST), flags | SPLICE_F_NONBLOCK)
    })
}

/// libc's `sendfile64`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendfile64(
    to: c_int,
    from: c_int,
    offset: *mut i64,
    length: usize,
) -> isize {
    let send = |length: usize| {
        let arguments = [to as usize, from as usize, offset as usize, length, 0, 0];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::SENDFILE, arguments) }
    };
    if !active() {
        return sys::libc_result(send(length));
    }
    let is_whole = descriptor::look(to).kind == Kind::File;
    let length = if is_whole { length } else { length.min(MOST) };
    move_bytes(from, to, false, || send(length))
}

/// libc's `sendfile`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, offset: *mut i64, length: usize) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { sendfile64(to, from, offset, length) }
}
