//! Reads of directories, and the current directory.

use core::ffi::{CStr, c_char, c_int, c_void};

use super::super::call::admit;
use super::elsewhere::{self, Use};
use super::known::known;
use super::path::CURRENT_DIRECTORY;
use super::touches::Touches;
use super::{AT_FDCWD, Call};
use crate::base::memory::engine_vec;
use crate::base::real;
use crate::base::sys::{self, number};
use crate::execution::{Effect, Named, Op, active, named};

/// libc's `opendir`.
#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut c_void {
    if !active() {
        // SAFETY: the caller's path ends in a zero.
        return unsafe { real::opendir(path) };
    }
    let (call, _) = Call::begin(Op::DirectoryOpen, |touches| {
        // SAFETY: as above.
        let place = unsafe { elsewhere::find(AT_FDCWD, path, true, Use::Lists, touches) }?;
        touches.add(place.entries(), Effect::Read);
        Some(())
    });
    // SAFETY: as above.
    let directory = unsafe { real::opendir(path) };
    call.end(0);
    directory
}

/// Adds a read of the entries of the directory that is open as `descriptor` to `touches`. `None`
/// if no call of a task could change the directory.
fn entries_of(descriptor: c_int, touches: &mut Touches) -> Option<()> {
    // SAFETY: a path that ends in a zero.
    let place = unsafe { elsewhere::find(descriptor, c".".as_ptr(), true, Use::Lists, touches) }?;
    touches.is_about(place.entries(), Effect::Read);
    Some(())
}

/// Reads an entry of an open directory by `next`. libc reads many entries from the kernel at once,
/// so only some of these calls read the directory. The runtime cannot distinguish the calls, and
/// records each of them as a read of the directory.
unsafe fn next_entry(directory: *mut c_void, next: impl FnOnce() -> *mut c_void) -> *mut c_void {
    // SAFETY: the caller gives an open directory.
    let descriptor = unsafe { real::dirfd(directory) };
    let (call, _) = Call::begin(Op::DirectoryRead, |touches| entries_of(descriptor, touches));
    let entry = next();
    call.end(0);
    entry
}

/// libc's `readdir64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn readdir64(directory: *mut c_void) -> *mut c_void {
    // SAFETY: the caller gives an open directory.
    let next = || unsafe { real::readdir64(directory) };
    if !active() {
        return next();
    }
    // SAFETY: as above.
    unsafe { next_entry(directory, next) }
}

/// libc's `readdir`.
#[unsafe(no_mangle)]
unsafe extern "C" fn readdir(directory: *mut c_void) -> *mut c_void {
    // SAFETY: the caller gives an open directory.
    let next = || unsafe { real::readdir(directory) };
    if !active() {
        return next();
    }
    // SAFETY: as above.
    unsafe { next_entry(directory, next) }
}

/// libc's `rewinddir`. It begins a new listing, as `opendir` does. A loop that waits for an entry
/// spins at these calls, not at `readdir`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rewinddir(directory: *mut c_void) {
    // SAFETY: the caller gives an open directory.
    let rewind = || unsafe { real::rewinddir(directory) };
    if !active() {
        return rewind();
    }
    // SAFETY: as above.
    let descriptor = unsafe { real::dirfd(directory) };
    let (call, _) = Call::begin(Op::DirectoryOpen, |touches| entries_of(descriptor, touches));
    rewind();
    call.end(0);
}

/// libc's `getcwd`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getcwd(out: *mut c_char, length: usize) -> *mut c_char {
    if !active() {
        // SAFETY: the caller's arguments are those of the real function.
        return unsafe { real::getcwd(out, length) };
    }
    if !out.is_null() {
        admit(out as usize, length);
    }
    let (call, _) = Call::begin(Op::DirectoryAsk, |touches| {
        touches.is_about(current_directory(), Effect::Read);
        Some(())
    });
    // SAFETY: as above.
    let found = unsafe { real::getcwd(out, length) };
    call.end(0);
    found
}

pub(super) fn current_directory() -> usize {
    named(Named::Place, CURRENT_DIRECTORY)
}

/// Records the directory in which all executions begin, before a task leaves it.
fn leave_home() {
    const PATH_MAX: usize = 4096;
    let known = known();
    known.has_moved = true;
    if !known.home.is_empty() {
        return;
    }
    let mut path = engine_vec();
    path.resize(PATH_MAX, 0);
    let out = path.as_mut_ptr() as usize;
    // SAFETY: there is room for `PATH_MAX` bytes.
    unsafe { sys::syscall(number::GETCWD, [out, PATH_MAX, 0, 0, 0, 0]) };
    let length = CStr::from_bytes_until_nul(&path).map_or(0, CStr::count_bytes);
    path.truncate(length + 1);
    known.home = path;
}

/// Changes the current directory for a task by `act`. `find` adds the objects that the call uses
/// to find the new directory.
fn move_to(find: impl FnMut(&mut Touches) -> Option<()>, act: impl FnOnce() -> isize) -> c_int {
    let mut find = find;
    let (mut call, _) = Call::begin(Op::DirectoryChange, |touches| {
        let _ = find(touches);
        touches.is_about(current_directory(), Effect::Read);
        Some(())
    });
    leave_home();
    let result = act();
    if result >= 0 {
        call.writes(current_directory());
    }
    call.end(result) as c_int
}

/// libc's `chdir`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    let act = || unsafe { sys::syscall(number::CHDIR, [path as usize, 0, 0, 0, 0, 0]) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    // SAFETY: as above.
    move_to(
        |touches| unsafe { elsewhere::find(AT_FDCWD, path, true, Use::Reads, touches) }.map(|_| ()),
        act,
    )
}

/// libc's `fchdir`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn fchdir(descriptor: c_int) -> c_int {
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::FCHDIR, [descriptor as usize, 0, 0, 0, 0, 0]) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    move_to(|touches| entries_of(descriptor, touches), act)
}
