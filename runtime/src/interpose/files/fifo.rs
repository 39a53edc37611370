//! FIFOs: pipes with a path. `open` of one end waits until the other end has been opened (fifo(7)).
//!
//! A task that had to wait in the kernel would block all tasks. So the runtime opens each end
//! without blocking, and the task waits in the engine. If there are child processes, one of them
//! may open the other end, and the task polls in real time.

use core::ffi::{c_char, c_int};

use super::fifo_ends::End;
use super::known::{Inode, known};
use super::{AT_SYMLINK_NOFOLLOW, O_ACCMODE, O_NOFOLLOW};
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Op};
use crate::platform::descriptor::{self, Identity, Kind, POLLIN};

const O_WRONLY: c_int = 1;
const O_RDWR: c_int = 2;
const O_NONBLOCK: c_int = 0o4000;
const O_PATH: c_int = 0o10_000_000;
const ENXIO: isize = 6;

fn identity(fifo: Inode) -> Identity {
    Identity {
        kind: Kind::Pipe,
        inode: fifo.number,
        device: 0,
    }
}

/// Names the new file at `path` after the running task if this file is a FIFO.
///
/// # Safety
/// The path ends in a zero.
pub(super) unsafe fn created(directory: c_int, path: *const c_char) {
    // SAFETY: the caller's promise.
    let new = unsafe { Inode::at(directory, path.cast(), AT_SYMLINK_NOFOLLOW) };
    if let Ok(new) = new
        && new.is_fifo()
    {
        execution::descriptor_object(-1, identity(new));
    }
}

/// Returns the FIFO at `path` if an `open` with `flags` opens an end of it.
///
/// # Safety
/// The path ends in a zero.
pub(super) unsafe fn at(directory: c_int, path: *const c_char, flags: c_int) -> Option<Inode> {
    if flags & O_PATH != 0 {
        return None;
    }
    let follow = if flags & O_NOFOLLOW == 0 {
        0
    } else {
        AT_SYMLINK_NOFOLLOW
    };
    // SAFETY: the caller's promise.
    let file = unsafe { Inode::at(directory, path.cast(), follow) }.ok()?;
    file.is_fifo().then_some(file)
}

/// Opens an end of `fifo` for a task, by `open` with the given flags. Returns the descriptor or a
/// negative error number.
pub(super) fn open(fifo: Inode, flags: c_int, open: impl Fn(c_int) -> isize) -> isize {
    let object = execution::descriptor_object(-1, identity(fifo));
    execution::before_call(Op::FifoOpen, object);
    let end = match flags & O_ACCMODE {
        O_WRONLY => Some(End::Writing),
        O_RDWR => None,
        _ => Some(End::Reading),
    };
    let waits = flags & O_NONBLOCK == 0 && end.is_some();
    let mut result = open(flags | O_NONBLOCK);
    if waits && result == -ENXIO {
        result = open_without_reader(flags, &open);
    }
    let Ok(descriptor) = c_int::try_from(result) else {
        return ended(object, result);
    };
    if result < 0 {
        return ended(object, result);
    }
    for opened in [End::Reading, End::Writing] {
        if end.is_none_or(|end| end == opened) {
            *known().fifo_ends.opens(fifo, opened) += 1;
        }
    }
    execution::wake_all(object);
    if flags & O_NONBLOCK == 0 {
        descriptor::set_nonblocking(descriptor, false);
    }
    if let Some(end) = end
        && waits
        && !is_other_end_open(descriptor, end)
    {
        let other = end.other();
        let before = *known().fifo_ends.opens(fifo, other);
        // The descriptor must be known while the task waits: it is closed if the execution ends.
        known().open(descriptor, fifo);
        // Other tasks can observe this end from now on.
        execution::after_call(Op::FifoOpen, object, Effect::Write);
        while *known().fifo_ends.opens(fifo, other) == before && !is_other_end_open(descriptor, end)
        {
            if has_children() {
                execution::yield_to_outside();
            } else {
                execution::await_other_end(Op::FifoOpen, object);
            }
        }
        return ended(object, result);
    }
    execution::after_call(Op::FifoOpen, object, Effect::Write);
    result
}

/// Records the event of a call that has changed nothing. Returns `result`.
fn ended(object: usize, result: isize) -> isize {
    execution::after_call(Op::FifoOpen, object, Effect::Read);
    result
}

/// Opens the end for writing while no process has opened the end for reading. Returns the
/// descriptor or a negative error number.
fn open_without_reader(flags: c_int, open: &impl Fn(c_int) -> isize) -> isize {
    let flags = flags | O_NONBLOCK;
    // The calls below also open the end for reading, for a moment. A child could observe this
    // reader, so with children the task only tries again.
    while has_children() {
        execution::yield_to_outside();
        let result = open(flags);
        if result != -ENXIO {
            return result;
        }
    }
    let both = open(flags & !O_ACCMODE | O_RDWR);
    if both < 0 {
        return both;
    }
    let result = open(flags);
    descriptor::close(both as c_int);
    result
}

/// Whether a process has opened the end of a FIFO that is not the end `end` of `descriptor`. Also
/// `true` if a writer was there before and has closed its end.
fn is_other_end_open(descriptor: c_int, end: End) -> bool {
    const POLLERR: i16 = 8;
    match end {
        End::Writing => {
            let mut entry = [descriptor::PollEntry::new(descriptor, 0)];
            descriptor::poll_now(&mut entry);
            entry[0].got & POLLERR == 0
        }
        End::Reading => descriptor::is_ready(descriptor, POLLIN) || has_writer(descriptor),
    }
}

/// Whether a process has opened the empty FIFO of `descriptor` for writing.
fn has_writer(descriptor: c_int) -> bool {
    const SPLICE_F_NONBLOCK: usize = 2;
    let mut ends = [0 as c_int; 2];
    // SAFETY: `ends` has room for two descriptors. The other calls use no memory.
    unsafe {
        let at = ends.as_mut_ptr() as usize;
        if sys::syscall(number::PIPE2, [at, 0, 0, 0, 0, 0]) < 0 {
            return false;
        }
        let [reading, writing] = ends;
        let (from, to) = (descriptor as usize, writing as usize);
        let copied = sys::syscall(number::TEE, [from, to, 1, SPLICE_F_NONBLOCK, 0, 0]);
        descriptor::close(reading);
        descriptor::close(writing);
        // If there is no writer, the FIFO is at its end, and `tee` copies nothing.
        copied != 0
    }
}

fn has_children() -> bool {
    let mut any = false;
    execution::for_each_child(|_| any = true);
    any
}
