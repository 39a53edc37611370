//! `open`, `dup` and similar functions.

use core::ffi::{CStr, c_char, c_int, c_uint};

use chess_vocabulary::Fault;

use super::super::call::admit;
use super::super::failing;
use super::elsewhere::{self, Use};
use super::known::{Inode, contents, known};
use super::{
    AT_FDCWD, Call, O_ACCMODE, O_NOFOLLOW, descriptor_state, fifo, lock, process_state, times,
    unsynced_writes,
};
use crate::base::sys::{self, number};
use crate::execution::{Op, active, may_crash_here};

const O_CREAT: c_int = 0o100;
const O_EXCL: c_int = 0o200;
const O_TRUNC: c_int = 0o1000;
const O_TMPFILE: c_int = 0o20_000_000;

/// libc's `openat64`. Callers pass `mode` only if the call may create a file.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn openat64(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    let (at, mode) = (path as usize, mode as usize);
    // SAFETY: the caller's arguments are those of the system call.
    let open_with = |flags: c_int| unsafe {
        let arguments = [directory as usize, at, flags as usize, mode, 0, 0];
        sys::syscall(number::OPENAT, arguments)
    };
    let open = || open_with(flags);
    if !active() {
        return sys::libc_result(open()) as c_int;
    }
    let makes = flags & O_CREAT != 0;
    // The search may let the call fail even if the file exists. An earlier execution may have left
    // the file, and all executions of one schedule must have the same choices.
    if makes && let Some(error) = failing::fails(Fault::NoSpace) {
        return sys::libc_result(error) as c_int;
    }
    if flags & (O_CREAT | O_TRUNC) != 0 {
        may_crash_here(Op::FileOpen);
    }
    let writes = flags & (O_ACCMODE | O_CREAT | O_TRUNC) != 0 && flags & O_TMPFILE != O_TMPFILE;
    let used = if writes { Use::Writes } else { Use::Reads };
    let follows = flags & O_NOFOLLOW == 0 && !(makes && flags & O_EXCL != 0);
    let (mut call, place) = Call::begin(Op::FileOpen, |touches| {
        if makes || flags & O_TMPFILE == O_TMPFILE {
            process_state::creates(touches);
        }
        // SAFETY: the caller's path ends in a zero.
        unsafe { elsewhere::find(directory, path, follows, used, touches) }
    });
    let old = place.as_ref().and_then(|place| place.inode);
    // Another task may have made the FIFO at the scheduling point.
    // SAFETY: the caller's path ends in a zero.
    let fifo = unsafe { fifo::at(directory, path, flags) };
    let result = match (fifo, old) {
        (Some(fifo), _) => fifo::open(fifo, flags, open_with),
        (None, Some(inode)) if flags & O_TRUNC != 0 => {
            // SAFETY: the caller's path ends in a zero.
            let path = unsafe { CStr::from_ptr(path) };
            unsynced_writes::follow_path(inode, directory, path, open)
        }
        _ => open(),
    };
    if let Some(place) = place
        && makes
        && result < 0
    {
        elsewhere::note_creation(place, result, None);
    }
    if let (Some(place), Ok(descriptor)) = (place, c_int::try_from(result))
        && descriptor >= 0
        && let Some(inode) = Inode::of(descriptor)
    {
        if flags & O_TMPFILE == O_TMPFILE {
            let known = known();
            let name = known.next_name();
            known.made(inode, name);
            times::created(inode);
        } else if place.inode.is_none() {
            // The file did not exist before.
            known().made(inode, place.name());
            times::created(inode);
            elsewhere::note_creation(place, result, Some(inode));
            call.changes(place);
        } else if flags & O_TRUNC != 0 {
            call.writes(contents(inode));
            times::modified(inode);
        }
        known().open(descriptor, inode);
    }
    call.end(result) as c_int
}

/// libc's `openat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { openat64(directory, path, flags, mode) }
}

/// libc's `open64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn open64(
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { openat64(AT_FDCWD, path, flags, mode) }
}

/// libc's `open`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { openat64(AT_FDCWD, path, flags, mode) }
}

/// libc's `creat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn creat(path: *const c_char, mode: c_uint) -> c_int {
    const O_WRONLY: c_int = 1;
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { openat64(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode) }
}

/// libc's `creat64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn creat64(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { creat(path, mode) }
}

/// Records that `result` is a duplicate of `descriptor`, unless it is an error. Returns `result`.
pub(in super::super) fn duplicated(descriptor: c_int, result: isize) -> isize {
    if result >= 0 && active() {
        known().duplicate(descriptor, result as c_int);
    }
    result
}

/// Duplicates `descriptor` by `act`, which chooses the number of the duplicate.
fn duplicate(descriptor: c_int, act: impl FnOnce() -> isize) -> c_int {
    descriptor_state::inspect(descriptor, || duplicated(descriptor, act())) as c_int
}

/// libc's `dup`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::DUP, [descriptor as usize, 0, 0, 0, 0, 0]) };
    duplicate(descriptor, act)
}

/// libc's `fcntl`. It depends on `command` whether the third argument is a number, an address, or
/// missing.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fcntl(
    descriptor: c_int,
    command: c_int,
    argument: usize,
) -> c_int {
    const F_DUPFD: c_int = 0;
    const F_DUPFD_CLOEXEC: c_int = 1030;
    const F_OFD_GETLK: c_int = 36;
    const F_OFD_SETLK: c_int = 37;
    const F_OFD_SETLKW: c_int = 38;
    const F_GETLK: c_int = 5;
    const F_GETFD: c_int = 1;
    const F_SETFD: c_int = 2;
    const F_GETFL: c_int = 3;
    const F_SETFL: c_int = 4;
    const F_SETPIPE_SZ: c_int = 1031;
    const F_GETPIPE_SZ: c_int = 1032;
    const F_GETOWN_EX: c_int = 16;
    const F_GET_FILE_RW_HINT: c_int = 1037;
    /// The size of the largest structure that the kernel writes for a command of `fcntl`.
    const LARGEST: usize = 32;
    let call = |command: c_int| {
        let arguments = [descriptor as usize, command as usize, argument, 0, 0, 0];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::FCNTL, arguments) }
    };
    if !active() {
        return sys::libc_result(call(command)) as c_int;
    }
    match command {
        F_DUPFD | F_DUPFD_CLOEXEC => duplicate(descriptor, || call(command)),
        F_GETFD | F_GETFL | F_GETPIPE_SZ => {
            descriptor_state::inspect(descriptor, || call(command)) as c_int
        }
        F_SETFD | F_SETFL | F_SETPIPE_SZ => {
            descriptor_state::change(descriptor, || call(command)) as c_int
        }
        // SAFETY: the caller passes the lock that this command takes.
        F_OFD_SETLK | F_OFD_SETLKW => unsafe {
            let waits = command == F_OFD_SETLKW;
            lock::of_range(
                descriptor,
                argument as *const _,
                waits,
                || call(F_OFD_SETLK),
                || call(F_OFD_SETLKW),
            )
        },
        F_OFD_GETLK => {
            admit(argument, LARGEST);
            lock::look(descriptor, || call(command))
        }
        _ => {
            if matches!(command, F_GETLK | F_GETOWN_EX | 1035..=F_GET_FILE_RW_HINT) {
                admit(argument, LARGEST);
            }
            // Record locks belong to the process, so its threads never wait for each other's
            // locks.
            sys::libc_result(call(command)) as c_int
        }
    }
}

/// libc's `fcntl64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { fcntl(descriptor, command, argument) }
}
