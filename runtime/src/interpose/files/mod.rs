//! Files and directories: the objects that each call uses, and its effects on them.
//!
//! A call by a path uses an entry of a directory, and reads each entry on the way there
//! ([`path`]). A file is identified by its inode ([`known`]). So a file is one object, even if
//! several links or descriptors lead to it. If the objects of a call cannot be determined, the
//! call conflicts with all other calls on files.

mod attributes;
mod child_start;
mod contents;
mod descriptor_state;
mod directories;
mod elsewhere;
mod fifo;
mod fifo_ends;
mod inode;
mod inspect;
mod journal;
mod known;
mod left_files;
mod lock;
mod names;
mod open;
mod path;
mod process_state;
mod shared_maps;
mod times;
mod touches;
mod unsynced_writes;

use core::ffi::c_int;

pub(super) use attributes::{chmod, fchmod};
pub(super) use child_start::{reach_child_start, start_child};
pub(super) use contents::{
    at_offset, copy_file_range, fallocate64, ftruncate64, lseek64, pread64, preadv64, pwrite64,
    pwritev64, read, transfer, write,
};
pub(super) use descriptor_state::{change, close, closes, inspect, inspect_address};
pub(super) use directories::{chdir, fchdir};
pub(super) use elsewhere::note_port;
pub(crate) use elsewhere::{Elsewhere, PLACE as ELSEWHERE_PLACE};
pub(super) use inspect::{
    access, fstat64, fstatat64, look_for_socket, lstat64, readlink, readlinkat, stat64, statx,
};
pub(crate) use known::{Known, PLACE as KNOWN_PLACE};
pub(super) use lock::flock;
pub(super) use names::{
    link, linkat, make_socket, mkdir, mkdirat, mknodat, rename, renameat2, rmdir, symlink,
    symlinkat, unlink, unlinkat,
};
pub(super) use open::{creat, dup, duplicated, fcntl, open64, openat64};
pub(super) use process_state::{Attribute, change_process, inspect_process};
pub(super) use times::others_write;
pub(crate) use unsynced_writes::Files;

use self::shared_maps::SharedMaps;
use self::touches::Touches;
use crate::base::sys;
use crate::execution::{Effect, Op, files};

/// The directory argument for paths relative to the current directory.
const AT_FDCWD: c_int = -100;
/// The flag of calls that do not follow a symbolic link at the end of a path.
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
/// The bits of the flags of `open` that are the access mode.
const O_ACCMODE: c_int = 3;
/// The flag of `open` that forbids a symbolic link at the end of the path.
const O_NOFOLLOW: c_int = 0o400_000;

/// The mappings of the running execution that share memory with files.
pub(super) fn shared_maps() -> &'static mut SharedMaps {
    &mut known::known().shared_maps
}

/// A task's call on files or on other state in the kernel, between the scheduling point and the
/// event of the call.
struct Call {
    op: Op,
    touches: Touches,
    /// Whether the call uses no recorded object ([`known::file_of`]). Such a call has no event.
    is_free: bool,
}

impl Call {
    /// Reaches the scheduling point of a call, and then finds the objects that the call uses by
    /// `find`. Returns the call, and the last result of `find`. If `find` returns `None`, the call
    /// uses no recorded object, and has no scheduling point.
    fn begin<T>(op: Op, mut find: impl FnMut(&mut Touches) -> Option<T>) -> (Self, Option<T>) {
        let mut touches = Touches::new();
        if !files::is_point(op) {
            let (call, found) = Self::of(op, touches, find);
            if found.is_some() {
                files::arrive(op, call.touches.main());
            }
            return (call, found);
        }
        if find(&mut touches).is_some() {
            files::arrive(op, touches.main());
            // Other tasks may have run at the scheduling point, and changed the objects that the
            // call uses.
            touches = Touches::new();
        }
        Self::of(op, touches, find)
    }

    /// Does the same as [`Self::begin`], without a scheduling point, for a call that
    /// commutes with all operations that other tasks could perform before it.
    fn begin_at_once<T>(op: Op, find: impl FnOnce(&mut Touches) -> Option<T>) -> (Self, Option<T>) {
        files::pass(op);
        Self::of(op, Touches::new(), find)
    }

    fn of<T>(
        op: Op,
        mut touches: Touches,
        find: impl FnOnce(&mut Touches) -> Option<T>,
    ) -> (Self, Option<T>) {
        known::known().times.begin();
        let found = find(&mut touches);
        let call = Self {
            op,
            touches,
            is_free: found.is_none(),
        };
        (call, found)
    }

    /// Records that the call has written `object`. Callers know this only from the result of the
    /// call.
    fn writes(&mut self, object: usize) {
        self.touches.add(object, Effect::Write);
    }

    /// Records the event of the call. Returns `result`; if it is an error, sets `errno` and
    /// returns -1.
    fn end(mut self, result: isize) -> isize {
        if !self.is_free {
            files::used(self.op, self.touches.all());
            clear_frames();
        }
        sys::libc_result(result)
    }
}

/// Overwrites the memory of the frames of functions that have returned. They contain numbers of
/// events, and the frames of the next call on files have gaps, in which these numbers would remain.
/// Then the states of a task that polls a file would differ, although the task repeats itself.
#[inline(never)]
fn clear_frames() {
    let frames = [0_u8; 2 * sys::PAGE];
    core::hint::black_box(&frames);
}
