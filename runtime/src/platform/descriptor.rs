//! Properties of an open descriptor: its kind, and whether it is ready.

use core::ffi::c_int;

use super::proc;
use crate::base::sys::{self, number};

pub(crate) const POLLIN: i16 = 1;
pub(crate) const POLLPRI: i16 = 2;
pub(crate) const POLLOUT: i16 = 4;

const F_GETFL: usize = 3;
const O_NONBLOCK: isize = 0o4000;

/// C's `struct pollfd`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollEntry {
    pub(crate) descriptor: c_int,
    pub(crate) wanted: i16,
    pub(crate) got: i16,
}

impl PollEntry {
    pub(crate) const fn new(descriptor: c_int, wanted: i16) -> Self {
        Self {
            descriptor,
            wanted,
            got: 0,
        }
    }
}

/// The kind of the file of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// No open descriptor has the number.
    Closed,
    /// A file or directory: it never blocks.
    File,
    /// A character device, for instance a terminal.
    Device,
    /// One end of a pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A file without a place in any file system, such as `epoll` and `eventfd`.
    Anonymous,
}

/// The identity of the file of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) kind: Kind,
    /// The inode number. It identifies a socket, or both ends of one pipe, until the machine
    /// restarts.
    pub(crate) inode: u64,
    /// The number of the device, if the file is a device.
    pub(crate) device: u64,
}

/// Determines the identity of the file of a descriptor.
pub(crate) fn look(descriptor: c_int) -> Identity {
    const DEVICE_AT: usize = 5;
    const INODE_AT: usize = 1;
    const MODE_AT: usize = 3;
    let mut stat = [0u64; 18];
    let at = &raw mut stat as usize;
    // SAFETY: `stat` is as large as the kernel's structure.
    let result = unsafe { sys::syscall(number::FSTAT, [descriptor as usize, at, 0, 0, 0, 0]) };
    let kind = if result < 0 {
        Kind::Closed
    } else {
        match stat[MODE_AT] >> 12 & 0xf {
            0o00 => Kind::Anonymous,
            0o01 => Kind::Pipe,
            0o02 => Kind::Device,
            0o14 => Kind::Socket,
            _ => Kind::File,
        }
    };
    Identity {
        kind,
        inode: stat[INODE_AT],
        device: stat[DEVICE_AT],
    }
}

/// Polls `entries` without waiting, and sets their results. Returns the number of entries that are
/// ready now; negative for an error.
pub(crate) fn poll_now(entries: &mut [PollEntry]) -> isize {
    let (at, count) = (entries.as_mut_ptr() as usize, entries.len());
    // SAFETY: the pointer and the count are those of writable entries.
    unsafe { sys::syscall(number::POLL, [at, count, 0, 0, 0, 0]) }
}

/// Whether a descriptor is ready for `wanted`, or has an error to report.
#[inline]
pub(crate) fn is_ready(descriptor: c_int, wanted: i16) -> bool {
    poll_now(&mut [PollEntry::new(descriptor, wanted)]) != 0
}

/// Whether calls on the descriptor return instead of blocking.
pub(crate) fn is_nonblocking(descriptor: c_int) -> bool {
    flags(descriptor) & O_NONBLOCK != 0
}

/// The flags of an open descriptor; negative for an error.
pub(crate) fn flags(descriptor: c_int) -> isize {
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(number::FCNTL, [descriptor as usize, F_GETFL, 0, 0, 0, 0]) }
}

/// Makes calls on the descriptor return instead of blocking, or block again.
pub(crate) fn set_nonblocking(descriptor: c_int, nonblocking: bool) {
    const F_SETFL: usize = 4;
    let old = flags(descriptor);
    let new = if nonblocking {
        old | O_NONBLOCK
    } else {
        old & !O_NONBLOCK
    };
    if old >= 0 && new != old {
        let arguments = [descriptor as usize, F_SETFL, new as usize, 0, 0, 0];
        // SAFETY: no memory is passed.
        unsafe { sys::syscall(number::FCNTL, arguments) };
    }
}

/// Closes a descriptor of the engine.
pub(crate) fn close(descriptor: c_int) {
    // SAFETY: the caller opened it.
    unsafe { sys::syscall(number::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Moves `descriptor`, which the runtime has opened for itself, above the descriptors of most
/// programs. Returns its new number; the old one if the limit of the process is too low.
pub(crate) fn move_up(descriptor: c_int) -> c_int {
    const HIGH: usize = 800;
    const F_DUPFD_CLOEXEC: usize = 1030;
    let arguments = [descriptor as usize, F_DUPFD_CLOEXEC, HIGH, 0, 0, 0];
    // SAFETY: no memory is passed.
    let moved = unsafe { sys::syscall(number::FCNTL, arguments) };
    if moved < 0 {
        return descriptor;
    }
    close(descriptor);
    moved as c_int
}

/// Calls `visit` with the open descriptors of this process, from `first` on, until `visit` returns
/// `true`. Returns whether `visit` returned `true`.
pub(crate) fn find_open(first: c_int, visit: impl FnMut(c_int) -> bool) -> bool {
    proc::find_number(b"/proc/self/fd\0", first, visit)
}

/// The path `/proc/self/` with `folder` and the number of the descriptor appended, and a final
/// zero.
pub(crate) fn own_path(folder: &[u8], descriptor: c_int) -> [u8; 48] {
    let mut path = [0; 48];
    let mut length = 0;
    let mut digits = [0; 10];
    let mut left = descriptor.unsigned_abs();
    let mut count = 0;
    while count == 0 || left > 0 {
        digits[count] = b'0' + (left % 10) as u8;
        left /= 10;
        count += 1;
    }
    let parts = b"/proc/self/".iter().chain(folder);
    for &byte in parts.chain(digits[..count].iter().rev()) {
        path[length] = byte;
        length += 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn both_ends_of_a_pipe_are_one_thing() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (reading, writing) = (look(reader.as_raw_fd()), look(writer.as_raw_fd()));
        assert_eq!((reading.kind, writing.kind), (Kind::Pipe, Kind::Pipe));
        assert_eq!(reading.inode, writing.inode);
        assert!(!is_ready(reader.as_raw_fd(), POLLIN));
        assert!(is_ready(writer.as_raw_fd(), POLLOUT));
    }

    #[test]
    fn open_descriptors_are_found_by_their_kind() {
        let file = File::open("/proc/self/exe").unwrap();
        assert_eq!(look(file.as_raw_fd()).kind, Kind::File);
        assert_eq!(look(-1).kind, Kind::Closed);
        let own = file.as_raw_fd();
        assert!(find_open(own, |descriptor| descriptor == own));
        assert!(!find_open(own + 1, |descriptor| descriptor == own));
    }

    #[test]
    fn paths_are_those_of_the_kernel() {
        let path = own_path(b"fdinfo/", 120);
        let path = CStr::from_bytes_until_nul(&path).unwrap();
        assert_eq!(path.to_bytes(), b"/proc/self/fdinfo/120");
    }
}
