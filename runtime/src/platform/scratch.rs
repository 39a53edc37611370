//! The test's directory for temporary files. It is emptied between executions.
//!
//! Tests choose names of files that are unique in their process, from its id and a static counter,
//! and may leave the files behind. The next execution has the same process id, and its counter
//! begins anew. So it would choose the same names, and meet the files of the former execution.

use core::ffi::{CStr, c_int};

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};

const AT_FDCWD: c_int = -100;
const AT_REMOVEDIR: usize = 0x200;
/// `O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC`, for reading.
const DIRECTORY: usize = 0o2_600_000;
const OWNER_ONLY: usize = 0o700;
const EACCES: c_int = 13;

/// The directory of this process.
pub(crate) struct Scratch {
    /// The open directory; negative if there is none.
    descriptor: c_int,
    /// The identity of the directory. The program may close the descriptor, and then open another
    /// directory that gets its number.
    identity: Option<[u64; 2]>,
    /// Whether the directory may be emptied: it was empty before the first execution. `None` before
    /// this is known.
    is_ours: Option<bool>,
    /// Whether some execution left an entry.
    leaves: bool,
}

impl Scratch {
    pub(crate) const fn new() -> Self {
        Self {
            descriptor: -1,
            identity: None,
            is_ours: None,
            leaves: false,
        }
    }

    /// Opens the directory at this path, for a new process. An earlier process of the same test may
    /// have left entries when it crashed.
    pub(crate) fn open(&mut self, path: &str) {
        self.descriptor = -1;
        let mut name: EngineVec<u8> = engine_vec();
        name.extend_from_slice(path.as_bytes());
        name.push(0);
        let Ok(name) = CStr::from_bytes_with_nul(&name) else {
            return;
        };
        if path.is_empty() {
            return;
        }
        self.descriptor = open(AT_FDCWD, name);
        if self.descriptor < 0 {
            return;
        }
        self.identity = status(self.descriptor, c"").map(|it| it.identity);
        let is_empty = || entries(self.descriptor).is_empty();
        let is_ours = *self.is_ours.get_or_insert_with(is_empty);
        if is_ours {
            self.empty();
        }
    }

    /// Whether the directory must be emptied after each execution.
    pub(crate) fn has_entries(&self) -> bool {
        self.leaves
    }

    /// Removes all entries of the directory.
    pub(crate) fn empty(&mut self) {
        if self.descriptor < 0 || self.is_ours != Some(true) {
            return;
        }
        let now = status(self.descriptor, c"").map(|it| it.identity);
        if now.is_some() && now == self.identity {
            self.leaves |= empty(self.descriptor);
        } else {
            self.descriptor = -1;
        }
    }
}

/// Opens a directory. Returns its descriptor; negative if it cannot be opened.
fn open(parent: c_int, name: &CStr) -> c_int {
    let arguments = [parent as usize, name.as_ptr() as usize, DIRECTORY, 0, 0, 0];
    // SAFETY: the name ends in a zero.
    unsafe { sys::syscall(number::OPENAT, arguments) as c_int }
}

/// Opens a directory below another one. Does not follow links, and enters no other mount.
fn open_below(parent: c_int, name: &CStr) -> c_int {
    const NO_XDEV: u64 = 1;
    const NO_SYMLINKS: u64 = 4;
    // C's `struct open_how`: flags, mode and rules.
    let how = [DIRECTORY as u64, 0, NO_XDEV | NO_SYMLINKS];
    let (name, how) = (name.as_ptr() as usize, how.as_ptr() as usize);
    let arguments = [parent as usize, name, how, 3 * size_of::<u64>(), 0, 0];
    // SAFETY: a name that ends in a zero, and a structure of this size.
    unsafe { sys::syscall(number::OPENAT2, arguments) as c_int }
}

/// Removes all entries of an open directory. Does not follow links, and enters no other mount.
/// Returns whether the directory had entries.
fn empty(directory: c_int) -> bool {
    let all = entries(directory);
    for name in &all {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        let (parent, at) = (directory as usize, name.as_ptr() as usize);
        // SAFETY: the name ends in a zero.
        let remove =
            |flags| unsafe { sys::syscall(number::UNLINKAT, [parent, at, flags, 0, 0, 0]) };
        if remove(0) == 0 {
            continue;
        }
        if !status(directory, name).is_some_and(|it| it.is_directory) {
            continue;
        }
        let mut below = open_below(directory, name);
        if below == -EACCES {
            // SAFETY: as above. A directory is no link, which the call would follow.
            unsafe { sys::syscall(number::FCHMODAT, [parent, at, OWNER_ONLY, 0, 0, 0]) };
            below = open_below(directory, name);
        }
        if below >= 0 {
            // SAFETY: the descriptor was just opened.
            unsafe { sys::syscall(number::FCHMOD, [below as usize, OWNER_ONLY, 0, 0, 0, 0]) };
            empty(below);
            // SAFETY: the descriptor was just opened.
            unsafe { sys::syscall(number::CLOSE, [below as usize, 0, 0, 0, 0, 0]) };
        }
        remove(AT_REMOVEDIR);
    }
    !all.is_empty()
}

/// Facts about an entry of a directory.
struct Status {
    /// The numbers of the device and of the inode.
    identity: [u64; 2],
    /// Whether the entry is a directory, and not a link to one.
    is_directory: bool,
}

/// Returns the facts about the entry with this name, or about the open directory itself if the name
/// is empty. `None` if there is no such entry.
fn status(parent: c_int, name: &CStr) -> Option<Status> {
    const AT_SYMLINK_NOFOLLOW: usize = 0x100;
    const AT_EMPTY_PATH: usize = 0x1000;
    const KIND: u32 = 0o170_000;
    const IS_DIRECTORY: u32 = 0o040_000;
    /// The word of C's `struct stat` that has the mode in its low half.
    const MODE_AT: usize = 3;
    let mut status = [0u64; 18];
    let (name, at) = (name.as_ptr() as usize, status.as_mut_ptr() as usize);
    let flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    let arguments = [parent as usize, name, at, flags, 0, 0];
    // SAFETY: a name that ends in a zero, and room for a `struct stat`.
    let result = unsafe { sys::syscall(number::NEWFSTATAT, arguments) };
    (result == 0).then(|| Status {
        identity: [status[0], status[1]],
        is_directory: status[MODE_AT] as u32 & KIND == IS_DIRECTORY,
    })
}

/// The names of the entries of an open directory. Each name ends in a zero.
fn entries(directory: c_int) -> EngineVec<EngineVec<u8>> {
    /// The offset of the length in an entry.
    const LENGTH_AT: usize = 16;
    /// The offset of the name in an entry.
    const NAME_AT: usize = 19;
    let mut all = engine_vec();
    let mut buffer = [0u64; 512];
    let (at, size) = (buffer.as_mut_ptr() as usize, size_of_val(&buffer));
    // SAFETY: the kernel fills the buffer with whole entries, each of which has its length, and a
    // name that ends in a zero.
    unsafe {
        sys::syscall(number::LSEEK, [directory as usize, 0, 0, 0, 0, 0]);
        loop {
            let arguments = [directory as usize, at, size, 0, 0, 0];
            let end = sys::syscall(number::GETDENTS64, arguments);
            if end <= 0 {
                return all;
            }
            let mut entry = at;
            while entry < at + end.cast_unsigned() {
                let name = CStr::from_ptr((entry + NAME_AT) as *const _);
                if name != c"." && name != c".." {
                    let mut copy = engine_vec();
                    copy.extend_from_slice(name.to_bytes_with_nul());
                    all.push(copy);
                }
                entry += usize::from(*((entry + LENGTH_AT) as *const u16));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A new directory with this name.
    fn directory(name: &str) -> String {
        let path =
            std::env::temp_dir().join(format!("chess_runtime-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("it is new");
        path.into_os_string().into_string().expect("UTF-8")
    }

    fn count(path: &str) -> usize {
        fs::read_dir(path).expect("it exists").count()
    }

    #[test]
    fn all_entries_are_removed_and_no_link_is_followed() {
        let (path, other) = (directory("scratch"), directory("other"));
        fs::write(format!("{other}/kept"), "x").expect("written");
        let mut scratch = Scratch::new();
        scratch.open(&path);
        assert!(!scratch.has_entries());
        fs::create_dir_all(format!("{path}/a/b/c")).expect("made");
        for number in 0..500 {
            fs::write(format!("{path}/a/b/a_file_with_a_long_name_{number}"), "x")
                .expect("written");
        }
        symlink(&other, format!("{path}/a/link")).expect("made");
        symlink("nowhere", format!("{path}/dangling")).expect("made");
        let closed = format!("{path}/a/b");
        fs::set_permissions(closed, Permissions::from_mode(0o000)).expect("its owner may");
        scratch.empty();
        assert!(scratch.has_entries());
        assert_eq!((count(&path), count(&other)), (0, 1));
        for path in [path, other] {
            fs::remove_dir_all(path).expect("removed");
        }
    }

    #[test]
    fn a_directory_that_was_not_empty_is_left_alone() {
        let path = directory("filled");
        fs::write(format!("{path}/before"), "x").expect("written");
        let mut scratch = Scratch::new();
        scratch.open(&path);
        fs::write(format!("{path}/later"), "x").expect("written");
        scratch.empty();
        assert_eq!(count(&path), 2);
        fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn what_a_crashed_process_has_left_is_removed_by_the_next_one() {
        let path = directory("crashed");
        let mut scratch = Scratch::new();
        scratch.open(&path);
        fs::write(format!("{path}/left"), "x").expect("written");
        scratch.open(&path);
        assert_eq!(count(&path), 0);
        fs::remove_dir_all(path).expect("removed");
    }
}
