//! Changes of directory entries: `unlink`, `rename`, `link`, `mkdir` and similar
//! functions.

use core::ffi::{c_char, c_int, c_uint};

use chess_vocabulary::Fault;

use super::super::failing;
use super::elsewhere::{self, Use};
use super::known::{Inode, attributes, known};
use super::path::Place;
use super::{AT_FDCWD, AT_SYMLINK_NOFOLLOW, Call, fifo, process_state, times};
use crate::base::sys::{self, number};
use crate::execution::{Effect, Op, active, may_crash_here};

const AT_REMOVEDIR: c_int = 0x200;
const AT_SYMLINK_FOLLOW: c_int = 0x400;

impl Call {
    /// Records that the call has created or removed the directory entry `place`.
    pub(super) fn changes(&mut self, place: Place) {
        self.writes(place.entry());
        self.touches.add(place.directory(), Effect::Update);
        if let Some(directory) = place.parent {
            times::modified(directory);
        }
        if let Some(inode) = place.inode {
            self.writes(attributes(inode));
            times::changed(inode);
        }
    }
}

/// Performs a call `act` that creates or removes the directory entry to which a path leads. A
/// created file is recorded in [`known`] under the identifier of its entry ([`Place::name`]). This
/// identifier is the same in all executions.
unsafe fn change(op: Op, directory: c_int, path: *const c_char, act: impl Fn() -> isize) -> c_int {
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    may_crash_here(op);
    let (mut call, place) = Call::begin(op, |touches| {
        // SAFETY: the caller's path ends in a zero.
        let place = unsafe {
            if op == Op::DirectoryMake && Inode::at(directory, path.cast(), 0).is_ok() {
                // The directory exists. The call fails, and only observes this.
                elsewhere::find(directory, path, false, Use::Reads, touches)
            } else {
                let used = if op == Op::DirectoryRemove {
                    Use::WritesBelow
                } else {
                    Use::Writes
                };
                elsewhere::find(directory, path, false, used, touches)
            }
        }?;
        if matches!(op, Op::DirectoryMake | Op::FileOpen) {
            process_state::creates(touches);
        }
        if op == Op::DirectoryRemove {
            // The call reads the entries, because it fails if the directory is not empty.
            touches.add(place.entries(), Effect::Read);
        }
        Some(place)
    });
    let result = act();
    let Some(place) = place else {
        return call.end(result) as c_int;
    };
    if result < 0 {
        if !matches!(op, Op::FileRemove | Op::DirectoryRemove) {
            elsewhere::note_creation(place, result, None);
        }
        return call.end(result) as c_int;
    }
    call.changes(place);
    if place.inode.is_none() {
        // SAFETY: as above.
        let new = unsafe { Inode::at(directory, path.cast(), AT_SYMLINK_NOFOLLOW) };
        if let Ok(inode) = new {
            known().made(inode, place.name());
            times::created(inode);
            elsewhere::note_creation(place, result, Some(inode));
        }
    } else {
        elsewhere::note_removal(place);
        if op == Op::DirectoryRemove {
            call.writes(place.entries());
        }
    }
    call.end(result) as c_int
}

/// libc's `unlinkat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn unlinkat(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    let op = if flags & AT_REMOVEDIR == 0 {
        Op::FileRemove
    } else {
        Op::DirectoryRemove
    };
    let arguments = [directory as usize, path as usize, flags as usize, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        change(op, directory, path, || {
            sys::syscall(number::UNLINKAT, arguments)
        })
    }
}

/// libc's `unlink`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { unlinkat(AT_FDCWD, path, 0) }
}

/// libc's `rmdir`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { unlinkat(AT_FDCWD, path, AT_REMOVEDIR) }
}

/// libc's `remove`.
#[unsafe(no_mangle)]
unsafe extern "C" fn remove(path: *const c_char) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe {
        let found = Inode::at(AT_FDCWD, path.cast(), AT_SYMLINK_NOFOLLOW);
        let is_directory = found.is_ok_and(Inode::is_directory);
        unlinkat(AT_FDCWD, path, if is_directory { AT_REMOVEDIR } else { 0 })
    }
}

/// libc's `mkdirat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn mkdirat(
    directory: c_int,
    path: *const c_char,
    mode: c_uint,
) -> c_int {
    let arguments = [directory as usize, path as usize, mode as usize, 0, 0, 0];
    // The search may let the call fail even if the directory exists: see `openat64`.
    if active()
        && let Some(error) = failing::fails(Fault::NoSpace)
    {
        return sys::libc_result(error) as c_int;
    }
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        change(Op::DirectoryMake, directory, path, || {
            sys::syscall(number::MKDIRAT, arguments)
        })
    }
}

/// libc's `mkdir`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { mkdirat(AT_FDCWD, path, mode) }
}

/// libc's `mknodat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn mknodat(
    directory: c_int,
    path: *const c_char,
    mode: c_uint,
    device: u64,
) -> c_int {
    let (mode, device) = (mode as usize, device as usize);
    let arguments = [directory as usize, path as usize, mode, device, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let result = change(Op::FileOpen, directory, path, || {
            sys::syscall(number::MKNODAT, arguments)
        });
        if result == 0 {
            fifo::created(directory, path);
        }
        result
    }
}

/// libc's `mknod`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mknod(path: *const c_char, mode: c_uint, device: u64) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { mknodat(AT_FDCWD, path, mode, device) }
}

/// libc's `mkfifoat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mkfifoat(directory: c_int, path: *const c_char, mode: c_uint) -> c_int {
    const S_IFIFO: c_uint = 0o010_000;
    // SAFETY: the caller's path ends in a zero.
    unsafe { mknodat(directory, path, mode | S_IFIFO, 0) }
}

/// libc's `mkfifo`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mkfifo(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's path ends in a zero.
    unsafe { mkfifoat(AT_FDCWD, path, mode) }
}

/// Performs a task's call `act` that makes the file of a Unix socket. Returns the result as libc's
/// function does.
///
/// # Safety
/// The path ends in a zero.
pub(in super::super) unsafe fn make_socket(path: *const c_char, act: impl Fn() -> isize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { change(Op::FileOpen, AT_FDCWD, path, act) }
}

/// libc's `symlinkat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn symlinkat(
    target: *const c_char,
    directory: c_int,
    path: *const c_char,
) -> c_int {
    let arguments = [target as usize, directory as usize, path as usize, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        change(Op::FileLink, directory, path, || {
            sys::syscall(number::SYMLINKAT, arguments)
        })
    }
}

/// libc's `symlink`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn symlink(
    target: *const c_char,
    path: *const c_char,
) -> c_int {
    // SAFETY: the caller's paths end in zeros.
    unsafe { symlinkat(target, AT_FDCWD, path) }
}

/// libc's `linkat`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn linkat(
    from: c_int,
    old: *const c_char,
    to: c_int,
    new: *const c_char,
    flags: c_int,
) -> c_int {
    let (old_at, new_at) = (old as usize, new as usize);
    let arguments = [
        from as usize,
        old_at,
        to as usize,
        new_at,
        flags as usize,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::LINKAT, arguments) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    may_crash_here(Op::FileLink);
    let (mut call, places) = Call::begin(Op::FileLink, |touches| {
        // SAFETY: the caller's paths end in zeros.
        unsafe {
            let follows = flags & AT_SYMLINK_FOLLOW != 0;
            let old = elsewhere::find(from, old, follows, Use::Reads, touches);
            if old.is_none() {
                // The path leads to a device or into a pseudo file system.
                touches.use_everything();
            }
            Some((old, elsewhere::find(to, new, false, Use::Writes, touches)?))
        }
    });
    let result = act();
    if let Some((old, new)) = places {
        elsewhere::note_creation(new, result, old.and_then(|old| old.inode));
    }
    if let Some((old, new)) = places
        && result >= 0
    {
        call.changes(new);
        if let Some(inode) = old.and_then(|old| old.inode) {
            call.writes(attributes(inode));
            times::changed(inode);
        }
    }
    call.end(result) as c_int
}

/// libc's `link`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn link(old: *const c_char, new: *const c_char) -> c_int {
    // SAFETY: the caller's paths end in zeros.
    unsafe { linkat(AT_FDCWD, old, AT_FDCWD, new, 0) }
}

/// libc's `renameat2`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn renameat2(
    from: c_int,
    old: *const c_char,
    to: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    let (old_at, new_at) = (old as usize, new as usize);
    let arguments = [
        from as usize,
        old_at,
        to as usize,
        new_at,
        flags as usize,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::RENAMEAT2, arguments) };
    if !active() {
        return sys::libc_result(act()) as c_int;
    }
    if let Some(error) = failing::fails(Fault::Rename) {
        return sys::libc_result(error) as c_int;
    }
    may_crash_here(Op::FileRename);
    let (mut call, places) = Call::begin(Op::FileRename, |touches| {
        // SAFETY: the caller's paths end in zeros.
        unsafe {
            // The entry may be a directory. Then the paths of the entries below it change as well.
            let old = elsewhere::find(from, old, false, Use::WritesBelow, touches)?;
            Some((
                old,
                elsewhere::find(to, new, false, Use::WritesBelow, touches)?,
            ))
        }
    });
    let result = act();
    if let Some((old, new)) = places
        && result >= 0
    {
        for place in [old, new] {
            elsewhere::note_removal(place);
            call.changes(place);
            if place.inode.is_some_and(Inode::is_directory) {
                // All entries below it have another path now.
                call.touches.use_everything();
            }
        }
    }
    call.end(result) as c_int
}

/// libc's `renameat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn renameat(
    from: c_int,
    old: *const c_char,
    to: c_int,
    new: *const c_char,
) -> c_int {
    // SAFETY: the caller's paths end in zeros.
    unsafe { renameat2(from, old, to, new, 0) }
}

/// libc's `rename`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    // SAFETY: the caller's paths end in zeros.
    unsafe { renameat2(AT_FDCWD, old, AT_FDCWD, new, 0) }
}
