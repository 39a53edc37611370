//! Changes of a file's attributes: `chmod`, `chown`, `utimes` and similar functions.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::elsewhere::{self, Use};
use super::known::{Inode, attributes, file_of};
use super::{AT_FDCWD, AT_SYMLINK_NOFOLLOW, Call, times};
use crate::base::sys::{self, number};
use crate::execution::{Effect, Op, active};

/// Performs a call `act` that changes the attributes of the file to which a path leads. `date`
/// changes the times of the file.
unsafe fn change_at(
    directory: c_int,
    path: *const c_char,
    follows: bool,
    act: impl FnOnce() -> isize,
    date: impl FnOnce(Inode),
) -> c_int {
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    if path.is_null() {
        return change(directory, act, date);
    }
    let (mut call, place) = Call::begin(Op::FileAttributes, |touches| {
        // SAFETY: the caller's path ends in a zero.
        unsafe { elsewhere::find(directory, path, follows, Use::Writes, touches) }
    });
    let result = act();
    if let Some(inode) = place.and_then(|place| place.inode)
        && result >= 0
    {
        call.writes(attributes(inode));
        date(inode);
    }
    call.end(result) as c_int
}

/// As [`change_at`], for the file that is open as `descriptor`.
fn change(descriptor: c_int, act: impl FnOnce() -> isize, date: impl FnOnce(Inode)) -> c_int {
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    let (mut call, file) = Call::begin(Op::FileAttributes, |touches| {
        let file = file_of(descriptor, touches)?;
        touches.is_about(attributes(file), Effect::Read);
        Some(file)
    });
    let result = act();
    if let Some(file) = file
        && result >= 0
    {
        call.writes(attributes(file));
        date(file);
    }
    call.end(result) as c_int
}

/// libc's `chmod`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn chmod(path: *const c_char, mode: c_uint) -> c_int {
    let arguments = [path as usize, mode as usize, 0, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let act = || sys::syscall(number::CHMOD, arguments);
        change_at(AT_FDCWD, path, true, act, times::changed)
    }
}

/// libc's `fchmod`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fchmod(descriptor: c_int, mode: c_uint) -> c_int {
    let arguments = [descriptor as usize, mode as usize, 0, 0, 0, 0];
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::FCHMOD, arguments) };
    change(descriptor, act, times::changed)
}

/// libc's `chown`.
#[unsafe(no_mangle)]
unsafe extern "C" fn chown(path: *const c_char, user: c_uint, group: c_uint) -> c_int {
    let arguments = [path as usize, user as usize, group as usize, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let act = || sys::syscall(number::CHOWN, arguments);
        change_at(AT_FDCWD, path, true, act, times::changed)
    }
}

/// libc's `lchown`.
#[unsafe(no_mangle)]
unsafe extern "C" fn lchown(path: *const c_char, user: c_uint, group: c_uint) -> c_int {
    let arguments = [path as usize, user as usize, group as usize, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let act = || sys::syscall(number::LCHOWN, arguments);
        change_at(AT_FDCWD, path, false, act, times::changed)
    }
}

/// libc's `fchown`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fchown(descriptor: c_int, user: c_uint, group: c_uint) -> c_int {
    let arguments = [descriptor as usize, user as usize, group as usize, 0, 0, 0];
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::FCHOWN, arguments) };
    change(descriptor, act, times::changed)
}

/// libc's `utimensat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn utimensat(
    directory: c_int,
    path: *const c_char,
    times: *const c_void,
    flags: c_int,
) -> c_int {
    let (at, new) = (path as usize, times as usize);
    let arguments = [directory as usize, at, new, flags as usize, 0, 0];
    let follows = flags & AT_SYMLINK_NOFOLLOW == 0;
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let act = || sys::syscall(number::UTIMENSAT, arguments);
        let date = |file| times::set(file, times);
        change_at(directory, path, follows, act, date)
    }
}

/// libc's `futimens`.
#[unsafe(no_mangle)]
unsafe extern "C" fn futimens(descriptor: c_int, times: *const c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the system call; no path means the
    // descriptor's file.
    unsafe { utimensat(descriptor, core::ptr::null(), times, 0) }
}
