//! The bytes of files: `read`, `write`, `truncate` and similar functions.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::slice;

use chess_vocabulary::Fault;

use super::super::buffers::{Buffer, admit_buffers, kernel_reads, kernel_wrote};
use super::super::call::admit;
use super::super::failing::{self, Direction};
use super::elsewhere::{self, Use};
use super::known::{Inode, attributes, contents, file_of, position};
use super::{AT_FDCWD, Call, times, unsynced_writes};
use crate::base::sys::{self, number};
use crate::execution::{Effect, Op, active, has_components, may_crash_here};
use crate::platform::descriptor::Kind;

/// Performs a task's call `act` on the file that is open as `descriptor`. If `moves` is
/// set, the call uses and changes the position of the open file.
fn call(op: Op, descriptor: c_int, moves: bool, act: impl FnOnce() -> isize) -> isize {
    let changes = matches!(op, Op::FileWrite | Op::FileResize);
    if changes {
        may_crash_here(op);
    }
    let (mut call, file) = Call::begin(op, |touches| {
        let file = file_of(descriptor, touches)?;
        touches.is_about(contents(file), Effect::Read);
        if moves && let Some(position) = position(descriptor) {
            touches.add(position, Effect::Write);
        }
        Some(file)
    });
    let result = match file {
        Some(file) if changes => unsynced_writes::follow(file, descriptor, act),
        _ => act(),
    };
    if let Some(file) = file
        && result >= 0
        && changes
    {
        writes(&mut call, file);
    }
    call.end(result)
}

/// Performs a task's read or write `act` of a file at an offset.
pub(in super::super) fn at_offset(op: Op, descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    call(op, descriptor, false, act)
}

/// Records that the call has written to `file`.
fn writes(call: &mut Call, file: Inode) {
    call.writes(contents(file));
    times::modified(file);
}

/// Performs a task's read `act` of a file, from the position of the open file on.
pub(in super::super) fn read(descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    call(Op::FileRead, descriptor, true, act)
}

/// Performs a task's write `act` to a file, from the position of the open file on.
pub(in super::super) fn write(descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    call(Op::FileWrite, descriptor, true, act)
}

/// Performs a task's transfer `act` of bytes from one file to another.
pub(in super::super) fn transfer(from: c_int, to: c_int, act: impl FnOnce() -> isize) -> isize {
    may_crash_here(Op::FileWrite);
    let (mut call, file) = Call::begin(Op::FileWrite, |touches| {
        if let Some(source) = file_of(from, touches) {
            touches.add(contents(source), Effect::Read);
        }
        let file = file_of(to, touches)?;
        touches.is_about(contents(file), Effect::Read);
        for position in [from, to].into_iter().filter_map(position) {
            touches.add(position, Effect::Write);
        }
        Some(file)
    });
    let result = match file {
        Some(file) => unsynced_writes::follow(file, to, act),
        None => act(),
    };
    if let Some(file) = file
        && result >= 0
    {
        writes(&mut call, file);
    }
    call.end(result)
}

/// libc's `pread64`. The call never blocks, because it works only on files with positions.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn pread64(
    descriptor: c_int,
    out: *mut c_void,
    mut length: usize,
    offset: i64,
) -> isize {
    let buffer = Buffer::new(out, length);
    let (out, at) = (out as usize, offset as usize);
    // SAFETY: the caller's arguments are those of the system call.
    let read = |length: usize| unsafe {
        sys::syscall(
            number::PREAD64,
            [descriptor as usize, out, length, at, 0, 0],
        )
    };
    if !active() {
        return sys::libc_result(read(length));
    }
    admit(out, length);
    match failing::transfer(descriptor, Kind::File, Direction::Read, length) {
        Ok(most) => length = most,
        Err(error) => return sys::libc_result(error),
    }
    let result = call(Op::FileRead, descriptor, false, || read(length));
    kernel_wrote(&[buffer], result)
}

/// libc's `pread`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(
    descriptor: c_int,
    out: *mut c_void,
    length: usize,
    offset: i64,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { pread64(descriptor, out, length, offset) }
}

/// libc's `pwrite64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn pwrite64(
    descriptor: c_int,
    bytes: *const c_void,
    mut length: usize,
    offset: i64,
) -> isize {
    let buffer = Buffer::new(bytes, length);
    let (bytes, at) = (bytes as usize, offset as usize);
    // SAFETY: the caller's arguments are those of the system call.
    let write = |length: usize| unsafe {
        sys::syscall(
            number::PWRITE64,
            [descriptor as usize, bytes, length, at, 0, 0],
        )
    };
    if !active() {
        return sys::libc_result(write(length));
    }
    kernel_reads(&[buffer]);
    match failing::transfer(descriptor, Kind::File, Direction::Write, length) {
        Ok(most) => length = most,
        Err(error) => return sys::libc_result(error),
    }
    call(Op::FileWrite, descriptor, false, || write(length))
}

/// libc's `pwrite`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(
    descriptor: c_int,
    bytes: *const c_void,
    length: usize,
    offset: i64,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { pwrite64(descriptor, bytes, length, offset) }
}

/// libc's `preadv64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn preadv64(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
) -> isize {
    let (list, at) = (buffers as usize, offset as usize);
    // SAFETY: the caller's arguments are those of the system call.
    let read = || unsafe {
        let arguments = [descriptor as usize, list, count as usize, at, 0, 0];
        sys::syscall(number::PREADV, arguments)
    };
    if !active() {
        return sys::libc_result(read());
    }
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller passes a list of the stated length.
    unsafe { admit_buffers(buffers, count) };
    let result = call(Op::FileRead, descriptor, false, read);
    if result <= 0 {
        return result;
    }
    // SAFETY: as above; the kernel has accepted the list.
    kernel_wrote(unsafe { slice::from_raw_parts(buffers, count) }, result)
}

/// libc's `preadv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { preadv64(descriptor, buffers, count, offset) }
}

/// libc's `pwritev64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn pwritev64(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
) -> isize {
    let (list, at) = (buffers as usize, offset as usize);
    // SAFETY: the caller's arguments are those of the system call.
    let write = || unsafe {
        let arguments = [descriptor as usize, list, count as usize, at, 0, 0];
        sys::syscall(number::PWRITEV, arguments)
    };
    if !active() {
        return sys::libc_result(write());
    }
    if let Ok(count @ 1..) = usize::try_from(count) {
        // SAFETY: the caller passes a list of the stated length.
        kernel_reads(unsafe { slice::from_raw_parts(buffers, count) });
    }
    call(Op::FileWrite, descriptor, false, write)
}

/// libc's `pwritev`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev(
    descriptor: c_int,
    buffers: *const Buffer,
    count: c_int,
    offset: i64,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { pwritev64(descriptor, buffers, count, offset) }
}

/// libc's `fsync`. Only a crash of a component shows the effect of the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(descriptor: c_int) -> c_int {
    sync(descriptor, number::FSYNC)
}

/// libc's `fdatasync`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    sync(descriptor, number::FDATASYNC)
}

/// Performs the system call `number`, which writes a file to its device.
fn sync(descriptor: c_int, number: usize) -> c_int {
    if let Some(error) = failing::fails(Fault::Sync) {
        return sys::libc_result(error) as c_int;
    }
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number, [descriptor as usize, 0, 0, 0, 0, 0]) };
    if !has_components() {
        return sys::libc_result(act()) as c_int;
    }
    let op = Op::FileSync;
    may_crash_here(op);
    let (call, file) = Call::begin(op, |touches| {
        let file = file_of(descriptor, touches)?;
        touches.is_about(contents(file), Effect::Read);
        Some(file)
    });
    let result = act();
    if let Some(file) = file
        && result >= 0
    {
        unsynced_writes::synced(file);
    }
    call.end(result) as c_int
}

/// libc's `lseek64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn lseek64(
    descriptor: c_int,
    offset: i64,
    whence: c_int,
) -> i64 {
    // SAFETY: no memory is passed.
    let seek = || unsafe {
        let arguments = [
            descriptor as usize,
            offset as usize,
            whence as usize,
            0,
            0,
            0,
        ];
        sys::syscall(number::LSEEK, arguments)
    };
    if !active() {
        return sys::libc_result(seek()) as i64;
    }
    call(Op::FileSeek, descriptor, true, seek) as i64
}

/// libc's `lseek`.
#[unsafe(no_mangle)]
unsafe extern "C" fn lseek(descriptor: c_int, offset: i64, whence: c_int) -> i64 {
    // SAFETY: no memory is passed.
    unsafe { lseek64(descriptor, offset, whence) }
}

/// libc's `ftruncate64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn ftruncate64(descriptor: c_int, length: i64) -> c_int {
    // SAFETY: no memory is passed.
    let truncate = || unsafe {
        let arguments = [descriptor as usize, length as usize, 0, 0, 0, 0];
        sys::syscall(number::FTRUNCATE, arguments)
    };
    if !active() {
        return sys::libc_result(truncate()) as c_int;
    }
    call(Op::FileResize, descriptor, false, truncate) as c_int
}

/// libc's `ftruncate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(descriptor: c_int, length: i64) -> c_int {
    // SAFETY: no memory is passed.
    unsafe { ftruncate64(descriptor, length) }
}

/// libc's `fallocate64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fallocate64(
    descriptor: c_int,
    mode: c_int,
    offset: i64,
    length: i64,
) -> c_int {
    // SAFETY: no memory is passed.
    let allocate = || unsafe {
        let (offset, length) = (offset as usize, length as usize);
        let arguments = [descriptor as usize, mode as usize, offset, length, 0, 0];
        sys::syscall(number::FALLOCATE, arguments)
    };
    if !active() {
        return sys::libc_result(allocate()) as c_int;
    }
    call(Op::FileResize, descriptor, false, allocate) as c_int
}

/// libc's `fallocate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate(descriptor: c_int, mode: c_int, offset: i64, length: i64) -> c_int {
    // SAFETY: no memory is passed.
    unsafe { fallocate64(descriptor, mode, offset, length) }
}

/// libc's `truncate64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn truncate64(path: *const c_char, length: i64) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    let truncate = || unsafe {
        sys::syscall(
            number::TRUNCATE,
            [path as usize, length as usize, 0, 0, 0, 0],
        )
    };
    if !active() {
        return sys::libc_result(truncate()) as c_int;
    }
    may_crash_here(Op::FileResize);
    let (mut call, place) = Call::begin(Op::FileResize, |touches| {
        // SAFETY: as above.
        let place = unsafe { elsewhere::find(AT_FDCWD, path, true, Use::Writes, touches) }?;
        if let Some(inode) = place.inode {
            touches.add(attributes(inode), Effect::Read);
        }
        Some(place)
    });
    let result = match place.as_ref().and_then(|place| place.inode) {
        Some(inode) => {
            // SAFETY: as above.
            let path = unsafe { CStr::from_ptr(path) };
            unsynced_writes::follow_path(inode, AT_FDCWD, path, truncate)
        }
        None => truncate(),
    };
    if let Some(inode) = place.and_then(|place| place.inode)
        && result >= 0
    {
        writes(&mut call, inode);
    }
    call.end(result) as c_int
}

/// libc's `truncate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn truncate(path: *const c_char, length: i64) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { truncate64(path, length) }
}

/// libc's `copy_file_range`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    length: usize,
    flags: u32,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    let copy = || unsafe {
        let (from_at, to_at) = (from_offset as usize, to_offset as usize);
        let arguments = [
            from as usize,
            from_at,
            to as usize,
            to_at,
            length,
            flags as usize,
        ];
        sys::syscall(number::COPY_FILE_RANGE, arguments)
    };
    if !active() {
        return sys::libc_result(copy());
    }
    for offset in [from_offset, to_offset] {
        if !offset.is_null() {
            admit(offset as usize, size_of::<i64>());
        }
    }
    transfer(from, to, copy)
}
