//! File locks: `flock`, which `File::lock` and similar functions call, and the open
//! file description locks of `fcntl`.
//!
//! The kernel keeps the locks. But a call of a task waits in the kernel only for a file whose uses
//! are not recorded ([`file_of`]). A task that cannot acquire a lock waits in the engine until
//! another task releases a lock of the file: by an unlock, by the close of the last descriptor, or
//! by a request for the lock in another mode. If no task holds a lock, then another process holds
//! it, and the wait takes real time.

use core::ffi::{c_int, c_short};

use chess_vocabulary::OutsideEffect;

use super::super::call::wait_for;
use super::known::{Held, Inode, file_of, known};
use super::touches::Touches;
use super::{Call, elsewhere};
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Named, Op, active, current, files, marked_line, named};
use crate::platform::descriptor::{self, POLLIN, PollEntry};

const LOCK_NB: c_int = 4;
const LOCK_UN: c_int = 8;

/// Returns the object that stands for the lock of a file.
pub(super) fn lock_of(inode: Inode) -> usize {
    named(Named::FileLock, known().name(inode))
}

/// Finds the file whose lock a call on `descriptor` acquires or releases. `None` if uses of the
/// file are not recorded.
fn find(descriptor: c_int, touches: &mut Touches) -> Option<Inode> {
    let inode = file_of(descriptor, touches)?;
    if known().opened(descriptor).is_none() && inode != Inode::NONE {
        known().open(descriptor, inode);
    }
    touches.is_about(lock_of(inode), Effect::Read);
    Some(inode)
}

/// Records that the open file of `descriptor` holds the lock of the file `inode` from now on, or
/// no longer holds it if `holds` is false. Returns whether the open file held the lock before.
fn hold(descriptor: c_int, inode: Inode, holds: bool) -> bool {
    let held = holds.then(|| Held {
        task: current(),
        site: marked_line(),
    });
    let opened = known().opened(descriptor);
    let before = opened.and_then(|opened| core::mem::replace(&mut opened.lock, held));
    let holder = known().holder(inode);
    files::hold_lock(lock_of(inode), holder.map(|held| (held.task, held.site)));
    before.is_some()
}

/// Performs a task's call `act` that looks for a lock that would exclude a lock of `descriptor`.
pub(super) fn look(descriptor: c_int, act: impl FnOnce() -> isize) -> c_int {
    let (call, _) = Call::begin(Op::DescriptorInspect, |touches| find(descriptor, touches));
    call.end(act()) as c_int
}

/// Acquires a file's lock for a task by `attempt`, which does not wait. If `waits` is set, waits
/// while the lock is held: in the engine if this process holds it, otherwise until a child process
/// has acquired it by `wait`.
fn take(
    descriptor: c_int,
    waits: bool,
    attempt: impl Fn() -> isize,
    wait: impl Fn() -> isize,
) -> isize {
    let taken = -(sys::EAGAIN as isize);
    let op = if waits { Op::FileLock } else { Op::FileTryLock };
    let (mut call, file) = Call::begin(op, |touches| find(descriptor, touches));
    let Some(inode) = file else {
        return call.end(if waits { wait() } else { attempt() });
    };
    elsewhere::note_open(descriptor);
    let lock = lock_of(inode);
    let result = loop {
        let result = attempt();
        if result == taken && hold(descriptor, inode, false) {
            // The open file held the lock in another mode. The kernel has released it before it
            // requested the new mode.
            call.writes(lock);
            files::wake_for_lock(lock);
        }
        if result != taken || !waits {
            break result;
        }
        if known().holder(inode).is_some() {
            files::wait_for_lock(op, lock);
        } else {
            wait_for_process(op, descriptor, lock, &wait);
        }
    };
    if result >= 0 {
        call.writes(lock);
        if hold(descriptor, inode, true) {
            // The open file may hold the lock in a weaker mode now.
            files::wake_for_lock(lock);
        }
    }
    call.end(result)
}

/// Waits until another process releases a lock. A child process requests the lock by `wait`. The
/// lock belongs to the open file of `descriptor`, which the child shares. So this process holds
/// the lock when the child has ended.
fn wait_for_process(op: Op, descriptor: c_int, lock: usize, wait: impl Fn() -> isize) {
    execution::note_outside(OutsideEffect::FileLock);
    let child = sys::fork_silently();
    if child == 0 {
        let own = descriptor.unsigned_abs() as usize;
        // The child closes all other descriptors. Otherwise it would keep files open that this
        // process closes in the meantime.
        for (first, last) in [(0, own - 1), (own + 1, u32::MAX as usize)] {
            // SAFETY: these are copies of the parent's descriptors.
            unsafe { sys::syscall(number::CLOSE_RANGE, [first, last, 0, 0, 0, 0]) };
        }
        wait();
        sys::exit_now(0);
    }
    if child < 0 {
        // A later fork may succeed.
        execution::yield_to_outside();
        return;
    }
    let handle = execution::open_process(child as c_int);
    let mut entries = [PollEntry::new(handle, POLLIN)];
    wait_for(op, lock, &mut entries, None, true);
    descriptor::close(handle);
    sys::reap_silent(child);
}

/// Releases a file's lock for a task by `act`: the whole lock if `is_whole`, otherwise a part of
/// it.
fn give_back(descriptor: c_int, is_whole: bool, act: impl FnOnce() -> isize) -> isize {
    let (mut call, file) = Call::begin(Op::FileUnlock, |touches| find(descriptor, touches));
    let result = act();
    if let Some(inode) = file
        && result >= 0
    {
        if is_whole {
            released(&mut call, descriptor, inode);
        } else {
            call.writes(lock_of(inode));
            files::wake_for_lock(lock_of(inode));
        }
    }
    call.end(result)
}

/// Records that the open file no longer holds the lock of its file.
fn released(call: &mut Call, descriptor: c_int, inode: Inode) {
    if hold(descriptor, inode, false) {
        let lock = lock_of(inode);
        call.writes(lock);
        files::wake_for_lock(lock);
    }
}

/// libc's `flock`.
#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn flock(descriptor: c_int, operation: c_int) -> c_int {
    let call = |operation: c_int| {
        let arguments = [descriptor as usize, operation as usize, 0, 0, 0, 0];
        // SAFETY: no memory is passed.
        unsafe { sys::syscall(number::FLOCK, arguments) }
    };
    if !active() {
        return sys::libc_result(call(operation)) as c_int;
    }
    let (asked, waits) = (operation & !LOCK_NB, operation & LOCK_NB == 0);
    let result = if asked == LOCK_UN {
        give_back(descriptor, true, || call(operation))
    } else {
        take(descriptor, waits, || call(asked | LOCK_NB), || call(asked))
    };
    result as c_int
}

/// The beginning of C's `struct flock`.
#[repr(C)]
pub(super) struct RangeLock {
    kind: c_short,
    whence: c_short,
    start: i64,
    length: i64,
}

/// Acquires or releases the lock of a range of a file for a task. If an open file unlocks only a
/// range of the file, the open file still counts as the holder of the lock. But the waiting tasks
/// try again, because they may wait for this range.
pub(super) unsafe fn of_range(
    descriptor: c_int,
    lock: *const RangeLock,
    waits: bool,
    attempt: impl Fn() -> isize,
    wait: impl Fn() -> isize,
) -> c_int {
    const F_UNLCK: c_short = 2;
    if lock.is_null() {
        return sys::libc_result(attempt()) as c_int;
    }
    // SAFETY: the caller passes a lock.
    let RangeLock {
        kind,
        whence,
        start,
        length,
    } = unsafe { lock.read() };
    let is_whole = (whence, start, length) == (0, 0, 0);
    let result = if kind == F_UNLCK {
        give_back(descriptor, is_whole, attempt)
    } else {
        take(descriptor, waits, attempt, wait)
    };
    result as c_int
}

/// Whether the close of `descriptor` ends a lock.
pub(super) fn is_released_by_close(descriptor: c_int) -> bool {
    let holds = known()
        .opened(descriptor)
        .is_some_and(|it| it.lock.is_some());
    holds && known().is_last(descriptor)
}

/// Must be called when a task has closed `descriptor` of the file `inode`.
pub(super) fn closed(call: &mut Call, descriptor: c_int, inode: Inode) {
    if known().is_last(descriptor) {
        released(call, descriptor, inode);
    }
}

/// Closes a known descriptor of a component that has crashed. This is a part of the crash, and has
/// no scheduling point.
pub(super) fn abandon(descriptor: c_int) {
    let Some(opened) = known().opened(descriptor).map(|opened| *opened) else {
        return;
    };
    let is_released = is_released_by_close(descriptor);
    descriptor::close(descriptor);
    if is_released {
        let lock = lock_of(opened.inode);
        hold(descriptor, opened.inode, false);
        execution::touch(lock, Effect::Write);
        files::wake_for_lock(lock);
    }
    known().forget(descriptor);
}
