//! The writes of components to files since the files were synced: a crash may lose these writes.
//! `execution/crash.rs` chooses the writes that are lost. The functions `fsync` and `fdatasync` are
//! in `contents.rs`.
//!
//! The journal has a copy of each file that a component has written, and the differences that its
//! calls made to the file. A difference is found by a comparison of the bytes, so all calls that
//! change the bytes of a file are treated alike. A change that the runtime does not see, for
//! instance through a memory map, is found when the next call begins. Such a change counts as
//! synced, and so do all changes of the file before it.
//!
//! Only bytes are lost. Entries of directories are safe: a file that was created stays, perhaps
//! empty.

use core::ffi::{CStr, c_int};

use chess_vocabulary::OutsideEffect;

use super::journal::{Change, Written, difference};
use super::known::{Inode, contents, known};
use super::lock;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};
use crate::execution::{
    ComponentId, Disk, Unsynced, component_of, marked_line, note_outside, own_component,
};
use crate::platform::descriptor::{self, own_path};

const O_RDWR: usize = 2;
const O_CLOEXEC: usize = 0o2_000_000;
const O_DSYNC: isize = 0o10_000;
const F_GETFL: usize = 3;

/// The bytes of an open file.
fn read(descriptor: c_int) -> EngineVec<u8> {
    const STEP: usize = 4096;
    let mut bytes = engine_vec();
    loop {
        let length = bytes.len();
        bytes.resize(length + STEP, 0);
        let start = bytes.as_mut_ptr() as usize + length;
        // SAFETY: the bytes are those that were just added.
        let count = unsafe {
            let arguments = [descriptor as usize, start, STEP, length, 0, 0];
            sys::syscall(number::PREAD64, arguments)
        };
        let count = usize::try_from(count).unwrap_or(0);
        bytes.truncate(length + count);
        if count == 0 {
            return bytes;
        }
    }
}

/// Opens the file at `path`, relative to the descriptor `directory`, for the journal. Returns the
/// descriptor, or a negative number if the file cannot be opened.
///
/// # Safety
/// The path ends in a zero.
unsafe fn open(directory: c_int, path: *const u8) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let arguments = [
            directory as usize,
            path as usize,
            O_RDWR | O_CLOEXEC,
            0,
            0,
            0,
        ];
        let low = sys::syscall(number::OPENAT, arguments);
        if low < 0 {
            return -1;
        }
        descriptor::move_up(low as c_int)
    }
}

/// Must be called before a task's call changes the bytes of the file `inode`. If a component makes
/// the call, brings the journal's copy of the file up to date. If the file is not in the journal
/// yet, opens it by `open`. Returns whether a call of [`changed`] must follow.
fn begin(inode: Inode, open: impl FnOnce() -> c_int) -> bool {
    if own_component().is_none() || !inode.is_file() {
        return false;
    }
    let journal = &mut known().journal;
    if let Some(file) = journal.find(inode) {
        let now = read(file.descriptor);
        if file.bytes != now {
            file.bytes = now;
            file.changes.clear();
        }
        return true;
    }
    let descriptor = open();
    if descriptor < 0 {
        note_outside(OutsideEffect::UnreadableFile);
        return false;
    }
    let bytes = read(descriptor);
    journal.files.push(Written {
        inode,
        descriptor,
        bytes,
        changes: engine_vec(),
    });
    true
}

/// Opens the file of `descriptor` for the journal.
fn open_again(descriptor: c_int) -> c_int {
    let path = own_path(b"fd/", descriptor);
    // SAFETY: the path ends in a zero.
    unsafe { open(super::AT_FDCWD, path.as_ptr()) }
}

/// Performs a task's call `act`, which changes the bytes of the file `inode` that is open as
/// `descriptor`.
pub(super) fn follow(inode: Inode, descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    let is_followed = begin(inode, || open_again(descriptor));
    let result = act();
    if is_followed {
        // SAFETY: no memory is passed.
        let flags =
            unsafe { sys::syscall(number::FCNTL, [descriptor as usize, F_GETFL, 0, 0, 0, 0]) };
        changed(inode, flags > 0 && flags & O_DSYNC != 0);
    }
    result
}

/// Performs a task's call `act`, which changes the bytes of the file `inode` at `path`.
pub(super) fn follow_path(
    inode: Inode,
    directory: c_int,
    path: &CStr,
    act: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the path ends in a zero.
    let is_followed = begin(inode, || unsafe { open(directory, path.as_ptr().cast()) });
    let result = act();
    if is_followed {
        changed(inode, false);
    }
    result
}

/// Records the difference that a call of a component has made to the file `inode`. If `is_synced`,
/// the call has also synced the file.
fn changed(inode: Inode, is_synced: bool) {
    let (Some(component), Some(file)) = (own_component(), known().journal.find(inode)) else {
        return;
    };
    let now = read(file.descriptor);
    if let Some((at, count, new)) = difference(&file.bytes, &now) {
        let mut old = engine_vec();
        old.extend_from_slice(&file.bytes[at..at + count]);
        file.bytes = now;
        file.changes.push(Change {
            component,
            site: marked_line(),
            at,
            old,
            new,
        });
    }
    if is_synced {
        file.changes.clear();
    }
}

/// Records that a file is synced: a crash loses none of the changes so far.
pub(super) fn synced(inode: Inode) {
    if let Some(file) = known().journal.find(inode) {
        file.changes.clear();
    }
}

/// The unsynced writes of the running execution. The engine uses them through the trait [`Disk`]
/// when it lets a component crash.
pub(crate) struct Files;

impl Disk for Files {
    fn count(&self) -> usize {
        known().journal.files.len()
    }

    fn unsynced(&self, component: ComponentId, file: usize) -> Unsynced {
        let file = &known().journal.files[file];
        Unsynced {
            writes: file.unsynced(component) as u32,
            contents: contents(file.inode),
            site: file.changes.last().and_then(|it| it.site),
        }
    }

    fn lose(&self, file: usize, writes: u32) {
        let file = &mut known().journal.files[file];
        for _ in 0..writes {
            file.undo();
        }
        file.restore();
    }

    fn ends(&self, component: ComponentId) {
        for file in &mut known().journal.files {
            file.changes.retain(|it| it.component != component);
        }
    }

    fn closes(&self, component: ComponentId) {
        let is_own = |user| component_of(user) == Some(component);
        while let Some(descriptor) = known().opened_by(is_own) {
            lock::abandon(descriptor);
        }
    }
}
