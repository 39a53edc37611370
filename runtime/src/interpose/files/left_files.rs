//! The files that an execution of the test created outside of the test's own directory and left
//! there. A later execution that creates the same paths finds these files, and so it differs.

use core::ffi::c_int;

use super::AT_FDCWD;
use super::inode::Inode;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};

/// The highest number of paths that are known.
const MOST: usize = 256;

const EEXIST: isize = 17;
const EADDRINUSE: isize = 98;
const AT_REMOVEDIR: usize = 0x200;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;

/// The paths that executions of the test created.
pub(super) struct LeftFiles {
    /// The number of the current execution, from 1.
    execution: u64,
    created: EngineVec<CreatedPath>,
    /// The index of the path that the current execution found last.
    found: Option<usize>,
}

struct CreatedPath {
    /// The path, with a zero at its end.
    path: EngineVec<u8>,
    /// The hash of the path.
    name: u64,
    /// The file that the newest execution has created there. `None` if no execution has created
    /// one, or if it was removed.
    file: Option<Inode>,
    /// The execution that has created the file.
    execution: u64,
}

impl CreatedPath {
    fn path(&self) -> &[u8] {
        &self.path[..self.path.len() - 1]
    }

    /// Whether the path is `directory` or a path below it.
    fn is_within(&self, directory: &[u8]) -> bool {
        let rest = self.path().strip_prefix(directory);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// Removes the file, if an execution has created it and it is still at this path.
    fn remove(&mut self) {
        let at = self.path.as_ptr();
        // SAFETY: the path ends in a zero.
        let now = unsafe { Inode::at(AT_FDCWD, at, AT_SYMLINK_NOFOLLOW) };
        if let (Some(file), Ok(now)) = (self.file, now)
            && file.is(now)
        {
            let flags = if now.is_directory() { AT_REMOVEDIR } else { 0 };
            let arguments = [AT_FDCWD as usize, at as usize, flags, 0, 0, 0];
            // SAFETY: as above. The kernel does not remove a directory with entries.
            let result = unsafe { sys::syscall(number::UNLINKAT, arguments) };
            if result == 0 {
                self.file = None;
            }
        }
    }
}

impl LeftFiles {
    pub(super) const fn new() -> Self {
        Self {
            execution: 0,
            created: engine_vec(),
            found: None,
        }
    }

    pub(super) fn begin_execution(&mut self) {
        self.execution += 1;
        self.found = None;
    }

    /// Records that a call may create `path`, whose hash is `name`.
    pub(super) fn may_create(&mut self, name: u64, path: &[u8]) {
        if self.place_of(name).is_none() && self.created.len() < MOST {
            let mut own = engine_vec();
            own.extend_from_slice(path);
            own.push(0);
            self.created.push(CreatedPath {
                path: own,
                name,
                file: None,
                execution: 0,
            });
        }
    }

    /// Records that the current execution has created `file` at the path with the hash `name`.
    pub(super) fn created(&mut self, name: u64, file: Inode) {
        if let Some(place) = self.place_of(name) {
            let created = &mut self.created[place];
            (created.file, created.execution) = (Some(file), self.execution);
        }
    }

    /// Records that the path with the hash `name` was removed, or leads to another file now.
    pub(super) fn removed(&mut self, name: u64) {
        if let Some(place) = self.place_of(name) {
            self.created[place].file = None;
        }
    }

    /// Records that a system call that creates the path with the hash `name` ended with the error
    /// `result`.
    pub(super) fn failed(&mut self, name: u64, result: isize) {
        if matches!(-result, EEXIST | EADDRINUSE)
            && let Some(place) = self.place_of(name)
        {
            let created = &self.created[place];
            if created.file.is_some() && created.execution < self.execution {
                self.found = Some(place);
            }
        }
    }

    /// The path that the current execution could not create, because an earlier execution had
    /// created it. If there are several such paths, the last one.
    pub(super) fn found(&self) -> Option<&[u8]> {
        self.found.map(|place| self.created[place].path())
    }

    /// Removes the path of [`Self::found`], and all paths below it that executions have created.
    /// Returns whether this path was removed.
    pub(super) fn remove_found(&mut self) -> bool {
        let Some(place) = self.found else {
            return false;
        };
        let mut path = engine_vec();
        path.extend_from_slice(self.created[place].path());
        // Most programs create a directory before its entries. The entries are removed first.
        for created in self.created.iter_mut().rev() {
            if created.is_within(&path) {
                created.remove();
            }
        }
        self.created[place].file.is_none()
    }

    fn place_of(&self, name: u64) -> Option<usize> {
        self.created.iter().position(|created| created.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use super::*;

    const FILE: Inode = Inode {
        device: 1,
        number: 2,
        mode: 0,
    };

    #[test]
    fn only_a_path_of_an_earlier_execution_is_found() {
        let mut left = LeftFiles::new();
        left.begin_execution();
        left.may_create(1, b"/one");
        left.failed(1, -EEXIST);
        assert_eq!(left.found(), None, "the path is not of this test");
        left.may_create(2, b"/two");
        left.created(2, FILE);
        left.failed(2, -EEXIST);
        assert_eq!(left.found(), None, "this execution has created the path");
        left.begin_execution();
        left.failed(2, -EEXIST);
        assert_eq!(left.found(), Some(&b"/two"[..]));
        left.begin_execution();
        assert_eq!(left.found(), None);
        left.removed(2);
        left.failed(2, -EADDRINUSE);
        assert_eq!(left.found(), None, "another program has created it");
    }

    #[test]
    fn a_limited_number_of_paths_is_known() {
        let mut left = LeftFiles::new();
        for name in 0..2 * MOST as u64 {
            left.may_create(name, b"/path");
        }
        assert_eq!(left.created.len(), MOST);
    }

    fn create(left: &mut LeftFiles, name: u64, path: &Path) {
        left.may_create(name, path.as_os_str().as_bytes());
        let mut text = path.as_os_str().as_bytes().to_vec();
        text.push(0);
        // SAFETY: the text ends in a zero.
        let file = unsafe { Inode::at(AT_FDCWD, text.as_ptr(), AT_SYMLINK_NOFOLLOW) };
        left.created(name, file.expect("the file exists"));
    }

    fn with_directory(act: impl FnOnce(&Path, &mut LeftFiles)) {
        let own = format!("left-files-{:?}", std::thread::current().id());
        let own = std::env::temp_dir().join(format!("{own}-{}", std::process::id()));
        fs::create_dir(&own).expect("the path is new");
        let mut left = LeftFiles::new();
        left.begin_execution();
        act(&own, &mut left);
        fs::remove_dir_all(&own).expect("it exists");
    }

    #[test]
    fn a_directory_is_removed_with_the_entries_that_executions_created() {
        with_directory(|own, left| {
            let (directory, file) = (own.join("a"), own.join("a/b"));
            fs::create_dir(&directory).unwrap();
            create(left, 1, &directory);
            fs::write(&file, "").unwrap();
            create(left, 2, &file);
            assert!(!left.remove_found(), "it was not found");
            left.begin_execution();
            left.failed(1, -EEXIST);
            assert!(left.remove_found());
            assert!(!directory.exists());
        });
    }

    #[test]
    fn files_of_others_are_not_removed() {
        with_directory(|own, left| {
            let (directory, others, file) = (own.join("a"), own.join("a/others"), own.join("b"));
            fs::create_dir(&directory).unwrap();
            create(left, 1, &directory);
            fs::write(&others, "text").unwrap();
            fs::write(&file, "").unwrap();
            create(left, 2, &file);
            left.begin_execution();
            left.failed(1, -EEXIST);
            assert!(!left.remove_found());
            // Another file replaces the one that an execution created.
            fs::rename(&others, &file).unwrap();
            left.failed(2, -EEXIST);
            assert!(!left.remove_found());
            assert_eq!(fs::read(&file).unwrap(), b"text");
        });
    }
}
