//! `preadv2` and `pwritev2`: reads and writes of lists of buffers with flags.

use core::ffi::c_int;
use core::slice;

use super::buffers::{Buffer, admit_buffers, kernel_reads, kernel_wrote};
use super::call::Call;
use super::{files, output, receive};
use crate::base::sys::{self, number};
use crate::execution::{Op, active};
use crate::platform::descriptor::{self, Kind, POLLOUT};

/// The offset that stands for the position of the open file. Pipes and sockets need it.
const POSITION: i64 = -1;
/// The flag of a call that must not block.
const RWF_NOWAIT: c_int = 8;

/// libc's `preadv64v2`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn preadv64v2(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
    flags: c_int,
) -> isize {
    let arguments = arguments(descriptor, buffers, count, offset, flags);
    // SAFETY: the caller's arguments are those of the system call.
    let read = || unsafe { sys::syscall(number::PREADV2, arguments) };
    if !active() {
        return sys::libc_result(read());
    }
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller passes a list of the stated length.
    unsafe {
        admit_buffers(buffers, count);
        let result = if offset == POSITION {
            let unblocked = flags & RWF_NOWAIT != 0;
            receive::read_call(descriptor, number::PREADV2, arguments, unblocked)
        } else {
            files::at_offset(Op::FileRead, descriptor, read)
        };
        if result <= 0 {
            return result;
        }
        kernel_wrote(slice::from_raw_parts(buffers, count), result)
    }
}

/// libc's `preadv2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv2(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { preadv64v2(descriptor, buffers, count, offset, flags) }
}

/// libc's `pwritev64v2`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pwritev64v2(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
    flags: c_int,
) -> isize {
    let arguments = arguments(descriptor, buffers, count, offset, flags);
    // SAFETY: the caller's arguments are those of the system call.
    let write = || unsafe { sys::syscall(number::PWRITEV2, arguments) };
    if !active() {
        return sys::libc_result(write());
    }
    let identity = descriptor::look(descriptor);
    let is_file = matches!(identity.kind, Kind::File | Kind::Closed);
    if offset == POSITION && !is_file && flags & RWF_NOWAIT == 0 {
        // The other flags have no effect on pipes and sockets.
        // SAFETY: as above.
        return unsafe { output::writev(descriptor, buffers.cast(), count) };
    }
    if let Ok(count @ 1..) = usize::try_from(count) {
        // SAFETY: the caller passes a list of the stated length.
        kernel_reads(unsafe { slice::from_raw_parts(buffers, count) });
    }
    if offset != POSITION {
        return files::at_offset(Op::FileWrite, descriptor, write);
    }
    if is_file {
        return files::write(descriptor, write);
    }
    let mut call = Call::begin(Op::DescriptorWrite, descriptor, identity, POLLOUT).unblocked(true);
    let result = call.carry_out_when_ready(write);
    call.end(result)
}

/// libc's `pwritev2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev2(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { pwritev64v2(descriptor, buffers, count, offset, flags) }
}

/// The arguments of the system calls. The fifth one is the upper half of the offset on machines of
/// 32 bits.
fn arguments(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
    flags: c_int,
) -> [usize; 6] {
    [
        descriptor as usize,
        buffers as usize,
        count as usize,
        offset as usize,
        0,
        flags as usize,
    ]
}
