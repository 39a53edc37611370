//! The source of a descriptor's readiness: this process, or something outside it.

use core::ffi::c_int;

use chess_vocabulary::OutsideEffect;

use crate::base::sys::{self, number, timespec};
use crate::platform::descriptor::{self, Identity, Kind, POLLIN, POLLOUT, PollEntry};
use crate::platform::{proc, socket};

/// The maximum length of a chain of `epoll` descriptors, each of which watches the next one. Longer
/// chains are not followed.
const DEPTH: u32 = 4;

/// The source outside the process that can make `descriptor` ready for `wanted`; `None` if only
/// this process can.
pub(super) fn of(descriptor: c_int, wanted: i16) -> Option<OutsideEffect> {
    look_into(descriptor, wanted, DEPTH)
}

/// As [`of`], but without a check of the descriptors that an `epoll` watches: this check takes
/// long.
pub(super) fn of_one(descriptor: c_int, wanted: i16) -> Option<OutsideEffect> {
    look_into(descriptor, wanted, 0)
}

/// Whether a child still runs; `None` if there is no such child.
pub(super) fn is_running(child: c_int) -> Option<bool> {
    const P_PID: usize = 1;
    const WNOHANG_EXITED_NOWAIT: usize = 0x0100_0005;
    let mut info = [0u32; 32];
    let at = &raw mut info as usize;
    let arguments = [P_PID, child as usize, at, WNOHANG_EXITED_NOWAIT, 0, 0];
    // SAFETY: `info` is as large as the kernel's structure.
    let result = unsafe { sys::syscall(number::WAITID, arguments) };
    (result == 0).then(|| info[sys::CHILD_AT] == 0)
}

/// Waits until a child has stopped or ended.
pub(super) fn wait_for_stop(child: c_int) {
    const P_PID: usize = 1;
    const EXITED_STOPPED_NOWAIT: usize = 0x0100_0006;
    let arguments = [P_PID, child as usize, 0, EXITED_STOPPED_NOWAIT, 0, 0];
    let interrupted = -(sys::EINTR as isize);
    // SAFETY: no memory is passed.
    while unsafe { sys::syscall(number::WAITID, arguments) } == interrupted {}
}

/// Waits until a child has ended, but for at most `nanos` nanoseconds.
pub(super) fn wait_for_end(child: c_int, nanos: u64) {
    let mut entry = PollEntry::new(open_process(child), POLLIN);
    let mut time = timespec::from_nanos(nanos);
    let (at, time) = (&raw mut entry as usize, &raw mut time as usize);
    // SAFETY: an entry and a time that the kernel may write to.
    unsafe { sys::syscall(number::PPOLL, [at, 1, time, 0, 8, 0]) };
    if entry.descriptor >= 0 {
        descriptor::close(entry.descriptor);
    }
}

/// Takes and discards the status of `child` that reports a continuation, if there is one.
pub(super) fn forget_continuation(child: c_int) {
    const P_PID: usize = 1;
    const WNOHANG_CONTINUED: usize = 0x9;
    let arguments = [P_PID, child as usize, 0, WNOHANG_CONTINUED, 0, 0];
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(number::WAITID, arguments) };
}

/// Opens a descriptor of `process` that becomes readable when the process ends.
pub(crate) fn open_process(process: c_int) -> c_int {
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(number::PIDFD_OPEN, [process as usize, 0, 0, 0, 0, 0]) as c_int }
}

/// The process to which the descriptor `handle` refers. `None` if it has been waited for.
pub(crate) fn process_of(handle: c_int) -> Option<c_int> {
    let mut process = None;
    proc::for_each_line(&descriptor::own_path(b"fdinfo/", handle), |line| {
        if let Some(id) = line.strip_prefix(b"Pid:") {
            process = proc::parse_number(id.trim_ascii_start());
        }
    });
    process
}

/// As [`of`], with `depth` levels of `epoll` descriptors.
fn look_into(descriptor: c_int, wanted: i16, depth: u32) -> Option<OutsideEffect> {
    let identity = descriptor::look(descriptor);
    match identity.kind {
        Kind::Closed => None,
        Kind::Pipe => (!has_other_end(descriptor, identity, wanted)).then_some(OutsideEffect::Pipe),
        Kind::Socket => socket::has_foreign_peer(descriptor).then_some(OutsideEffect::Socket),
        // Memory devices, like /dev/null, are always ready.
        Kind::Device => (identity.device >> 8 != 1).then_some(OutsideEffect::Device),
        // Handles of processes have been files since Linux 6.9.
        Kind::Anonymous | Kind::File => {
            let path = descriptor::own_path(b"fd/", descriptor);
            let mut name = [0u8; 64];
            let (from, to) = (path.as_ptr() as usize, &raw mut name as usize);
            let arguments = [from, to, name.len(), 0, 0, 0];
            // SAFETY: `from` points to a path that ends in a zero, and `to` to `name.len()`
            // writable bytes.
            let length = unsafe { sys::syscall(number::READLINK, arguments) };
            let name = &name[..usize::try_from(length).unwrap_or(0)];
            match name.strip_prefix(b"anon_inode:")? {
                b"[eventpoll]" => watched_source(descriptor, depth),
                name => anonymous(name),
            }
        }
    }
}

/// The source outside the process that can make a descriptor of an anonymous file ready. `name` is
/// the name that the kernel shows for such files.
fn anonymous(name: &[u8]) -> Option<OutsideEffect> {
    match name {
        b"[eventfd]" | b"[timerfd]" => None,
        b"[pidfd]" => Some(OutsideEffect::Process),
        b"[signalfd]" => Some(OutsideEffect::Signals),
        b"inotify" | b"[fanotify]" => Some(OutsideEffect::FileChanges),
        _ => Some(OutsideEffect::UnknownDescriptor),
    }
}

/// Whether this process holds the other end of the pipe, which makes this end ready.
fn has_other_end(descriptor: c_int, identity: Identity, wanted: i16) -> bool {
    const O_ACCMODE: isize = 3;
    const O_RDONLY: isize = 0;
    const O_WRONLY: isize = 1;
    let useless = if wanted & POLLOUT != 0 {
        O_WRONLY
    } else {
        O_RDONLY
    };
    socket::find_open(|other| {
        other != descriptor && {
            let seen = descriptor::look(other);
            seen.kind == Kind::Pipe
                && seen.inode == identity.inode
                && descriptor::flags(other) & O_ACCMODE != useless
        }
    })
}

/// The source outside the process that can make one of the descriptors ready that the `epoll`
/// instance `descriptor` watches.
fn watched_source(descriptor: c_int, depth: u32) -> Option<OutsideEffect> {
    if depth == 0 {
        return None;
    }
    let path = descriptor::own_path(b"fdinfo/", descriptor);
    let mut found = None;
    proc::for_each_line(&path, |line| {
        if let Some(rest) = line.strip_prefix(b"tfd:")
            && found.is_none()
        {
            let watched = proc::parse_number(rest.trim_ascii_start());
            found = watched.and_then(|watched| look_into(watched, POLLIN, depth - 1));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_outside_source_of_a_descriptor_is_named() {
        let terminal = File::open("/dev/ptmx").expect("the system has terminals");
        assert_eq!(
            of_one(terminal.as_raw_fd(), POLLIN),
            Some(OutsideEffect::Device)
        );
        let null = File::open("/dev/null").expect("the system has it");
        assert_eq!(of_one(null.as_raw_fd(), POLLIN), None);
        for (name, source) in [
            ("[timerfd]", None),
            ("[pidfd]", Some(OutsideEffect::Process)),
            ("[signalfd]", Some(OutsideEffect::Signals)),
            ("inotify", Some(OutsideEffect::FileChanges)),
            ("[io_uring]", Some(OutsideEffect::UnknownDescriptor)),
        ] {
            assert_eq!(anonymous(name.as_bytes()), source);
        }
    }
}
