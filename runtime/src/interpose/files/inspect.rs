//! Inspection of files without opening them: `stat`, `access`, `readlink` and similar
//! functions.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::super::call::admit;
use super::elsewhere::{self, Use};
use super::known::{attributes, contents};
use super::{AT_FDCWD, AT_SYMLINK_NOFOLLOW, Call, descriptor_state, times};
use crate::base::real;
use crate::base::sys::{self, number};
use crate::execution::{Effect, Op, active};
use crate::platform::descriptor::{self, Kind};

const AT_EMPTY_PATH: c_int = 0x1000;
/// The size of C's `struct stat`.
const STAT_SIZE: usize = 144;
/// The size of C's `struct statx`.
const STATX_SIZE: usize = 256;

/// Performs a task's call `act` that inspects the file at `path`, which is relative to
/// `directory`. If the path is empty and `flags` has `AT_EMPTY_PATH`, the call inspects the file
/// that is open as `directory`.
unsafe fn look(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    act: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller's path ends in a zero, unless it is null.
    let is_empty = path.is_null() || unsafe { *path } == 0;
    if is_empty && flags & AT_EMPTY_PATH != 0 && directory != AT_FDCWD {
        let op = match descriptor::look(directory).kind {
            Kind::File => Op::FileInspect,
            _ => Op::DescriptorInspect,
        };
        let (call, _) = Call::begin(op, |touches| {
            let state = descriptor_state::find(directory, touches)?;
            if let Some(file) = state.file {
                touches.add(attributes(file), Effect::Read);
                touches.is_about(contents(file), Effect::Read);
            }
            Some(())
        });
        return call.end(act());
    }
    let follows = flags & AT_SYMLINK_NOFOLLOW == 0;
    let (call, _) = Call::begin(Op::FileInspect, |touches| {
        // SAFETY: as above.
        let place = unsafe { elsewhere::find(directory, path, follows, Use::Reads, touches) }?;
        // There is no object for the contents of a directory. Its entries have objects of their
        // own.
        if let Some(inode) = place.inode.filter(|inode| !inode.is_directory()) {
            touches.add(contents(inode), Effect::Read);
        }
        Some(())
    });
    call.end(act())
}

/// Performs a task's call `act` that looks for a Unix socket at `path`. Returns the result of
/// `act`.
///
/// # Safety
/// The path ends in a zero.
pub(in super::super) unsafe fn look_for_socket(
    path: *const c_char,
    act: impl FnOnce() -> isize,
) -> isize {
    let (call, _) = Call::begin(Op::FileInspect, |touches| {
        // SAFETY: the caller's promise.
        unsafe { elsewhere::find(AT_FDCWD, path, true, Use::Reads, touches) }
    });
    let result = act();
    call.end(0);
    result
}

/// Performs the system call `newfstatat`, for a task or another thread.
unsafe fn stat_call(
    directory: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    let (at, out_at) = (path as usize, out as usize);
    let arguments = [directory as usize, at, out_at, flags as usize, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::NEWFSTATAT, arguments) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    admit(out_at, STAT_SIZE);
    // SAFETY: the caller's path ends in a zero, and a successful call has filled the structure.
    unsafe {
        let result = look(directory, path, flags, act);
        if result == 0 {
            times::show_in_stat(out);
        }
        result as c_int
    }
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident, $flags:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub(in super::super) unsafe extern "C" fn $name(
                path: *const c_char,
                out: *mut c_void,
            ) -> c_int {
                // SAFETY: the caller's arguments are those of the system call.
                unsafe { stat_call(AT_FDCWD, path, out, $flags) }
            }
        )*
    };
}

stats! {
    /// libc's `stat`.
    stat, 0;
    /// libc's `stat64`.
    stat64, 0;
    /// libc's `lstat`.
    lstat, AT_SYMLINK_NOFOLLOW;
    /// libc's `lstat64`.
    lstat64, AT_SYMLINK_NOFOLLOW;
}

/// libc's `fstat64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fstat64(descriptor: c_int, out: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { stat_call(descriptor, c"".as_ptr(), out, AT_EMPTY_PATH) }
}

/// libc's `fstat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fstat(descriptor: c_int, out: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { fstat64(descriptor, out) }
}

/// libc's `fstatat64`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fstatat64(
    directory: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { stat_call(directory, path, out, flags) }
}

/// libc's `fstatat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fstatat(
    directory: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { stat_call(directory, path, out, flags) }
}

/// libc's `statx`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    out: *mut c_void,
) -> c_int {
    let (at, flags_word, mask) = (path as usize, flags as usize, mask as usize);
    let arguments = [directory as usize, at, flags_word, mask, out as usize, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::STATX, arguments) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    admit(out as usize, STATX_SIZE);
    // SAFETY: as in `stat_call`.
    unsafe {
        let result = look(directory, path, flags, act);
        if result == 0 {
            times::show_in_statx(out);
        }
        result as c_int
    }
}

/// libc's `access`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    let arguments = [path as usize, mode as usize, 0, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::ACCESS, arguments) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    // SAFETY: the caller's path ends in a zero.
    unsafe { look(AT_FDCWD, path, 0, act) as c_int }
}

/// libc's `readlinkat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn readlinkat(
    directory: c_int,
    path: *const c_char,
    out: *mut c_char,
    length: usize,
) -> isize {
    let (at, out_at) = (path as usize, out as usize);
    let arguments = [directory as usize, at, out_at, length, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::READLINKAT, arguments) };
    if !active() {
        return sys::libc_result(act());
    }
    admit(out_at, length);
    // SAFETY: the caller's path ends in a zero.
    unsafe { look(directory, path, AT_SYMLINK_NOFOLLOW, act) }
}

/// libc's `readlink`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn readlink(
    path: *const c_char,
    out: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { readlinkat(AT_FDCWD, path, out, length) }
}

/// libc's `realpath`. Its event reads the directory entries on the path, as that of `stat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realpath(path: *const c_char, out: *mut c_char) -> *mut c_char {
    const PATH_MAX: usize = 4096;
    if !active() {
        // SAFETY: the caller's arguments are those of the real function.
        return unsafe { real::realpath(path, out) };
    }
    if !out.is_null() {
        admit(out as usize, PATH_MAX);
    }
    let mut found = core::ptr::null_mut();
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        look(AT_FDCWD, path, 0, || {
            found = real::realpath(path, out);
            0
        });
    }
    found
}
