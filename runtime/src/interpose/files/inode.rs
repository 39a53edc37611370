//! The identities of files.

use core::ffi::c_int;

use crate::base::sys::{self, number};

/// The identity of a file (its device, and its number there), and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inode {
    pub(super) device: u64,
    pub(super) number: u64,
    pub(super) mode: u32,
}

impl Inode {
    /// Stands for the file of a descriptor that is not open.
    pub(super) const NONE: Self = Self {
        device: 0,
        number: 0,
        mode: 0,
    };

    const KIND: u32 = 0o170_000;

    pub(super) fn is_directory(self) -> bool {
        self.mode & Self::KIND == 0o040_000
    }

    pub(super) fn is_link(self) -> bool {
        self.mode & Self::KIND == 0o120_000
    }

    pub(super) fn is_file(self) -> bool {
        self.mode & Self::KIND == 0o100_000
    }

    /// Whether the file is a FIFO: a pipe that has a path.
    pub(super) fn is_fifo(self) -> bool {
        self.mode & Self::KIND == 0o010_000
    }

    /// Whether the file is a character device, such as a terminal or `/dev/zero`.
    pub(super) fn is_device(self) -> bool {
        self.mode & Self::KIND == 0o020_000
    }

    pub(super) fn is(self, other: Self) -> bool {
        (self.device, self.number) == (other.device, other.number)
    }

    /// Returns the file at `path`, which is relative to `directory`. A link is not followed if
    /// `flags` has `AT_SYMLINK_NOFOLLOW`. The error is the negative error number of the kernel.
    pub(super) unsafe fn at(
        directory: c_int,
        path: *const u8,
        flags: c_int,
    ) -> Result<Self, isize> {
        const INODE_AT: usize = 1;
        const MODE_AT: usize = 3;
        let mut stat = [0u64; 18];
        let at = &raw mut stat as usize;
        let (path, flags) = (path as usize, flags as usize);
        // SAFETY: the caller's path ends in a zero, and `stat` is as large as the kernel's
        // structure.
        let result = unsafe {
            sys::syscall(
                number::NEWFSTATAT,
                [directory as usize, path, at, flags, 0, 0],
            )
        };
        if result < 0 {
            return Err(result);
        }
        Ok(Self {
            device: stat[0],
            number: stat[INODE_AT],
            mode: stat[MODE_AT] as u32,
        })
    }

    /// Returns the file that is open as `descriptor`.
    pub(super) fn of(descriptor: c_int) -> Option<Self> {
        const AT_EMPTY_PATH: c_int = 0x1000;
        // SAFETY: a path that ends in a zero.
        unsafe { Self::at(descriptor, c"".as_ptr().cast(), AT_EMPTY_PATH) }.ok()
    }
}
