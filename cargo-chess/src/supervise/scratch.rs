//! A directory for temporary files that belongs to one test process: its `TMPDIR`.
//!
//! Tests choose names that are unique within their process. Processes that share one directory
//! would choose the same names. Except for its last letter, the path depends only on the test's
//! name. It has the same length for every test. The memory of the program contains the path, and
//! must be the same in each run. The path is short, because the path of a Unix socket has at most
//! 107 bytes.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::{FlockOperation, flock};

use crate::digest;

/// The variable that names the directory for temporary files.
pub(super) const VARIABLE: &str = "TMPDIR";

/// The text for the directory in reports.
const SHOWN: &str = "$TMPDIR";

/// The prefix of the names of all such directories.
const PREFIX: &str = "chess-";

/// The possible last letters of the names. Two processes that run tests of the same name at the
/// same time, for instance from two checkouts, use different letters.
const LAST: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The number of digits of a digest that distinguish tests.
const DIGEST: usize = 10;

/// The directory of one test process. It is removed when this value is dropped. If that fails or
/// this process is killed, the next run removes the directory.
#[derive(Debug)]
pub(super) struct Scratch {
    path: String,
    /// The lock of the directory. It is held while this file is open.
    _lock: File,
}

impl Scratch {
    /// Creates an empty directory for the test of this name; `None` if that fails.
    pub(super) fn create(test: &str) -> Option<Self> {
        static SWEEP: Once = Once::new();
        let base = base()?;
        SWEEP.call_once(|| sweep(&base));
        Self::create_in(&base, test)
    }

    fn create_in(base: &Path, test: &str) -> Option<Self> {
        let digest = digest::short(test.as_bytes(), DIGEST);
        LAST.iter().find_map(|last| {
            let name = format!("{PREFIX}{digest}{}", char::from(*last));
            let path = base.join(name);
            make(&path).ok()?;
            let lock = lock(&path)?;
            empty(&path).ok()?;
            let path = path.into_os_string().into_string().ok()?;
            Some(Self { path, _lock: lock })
        })
    }

    /// The path of the directory.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Replaces the path in `text` by the name of the variable.
    pub(super) fn shorten(&self, text: &mut String) {
        if text.contains(&self.path) {
            *text = text.replace(&self.path, SHOWN);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed by the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The user's directory for temporary files.
fn base() -> Option<PathBuf> {
    // Symbolic links are resolved, because the paths that a test writes are compared with this
    // path.
    let base = std::env::temp_dir().canonicalize().ok()?;
    base.to_str().is_some().then_some(base)
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Locks the directory, if it is owned by this user and no other process has locked it.
fn lock(path: &Path) -> Option<File> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_ours {
        return None;
    }
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Another process may have removed the directory before it was locked.
    let (locked, now) = (file.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    let is_same = (locked.dev(), locked.ino()) == (now.dev(), now.ino());
    is_same.then_some(file)
}

/// Removes the files that a killed process has left.
fn empty(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes the directories that killed runs have left.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_name)
            && let Some(_lock) = lock(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == DIGEST + 1
            && rest[..DIGEST].bytes().all(|byte| byte.is_ascii_hexdigit())
            && LAST.contains(&rest.as_bytes()[DIGEST])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_the_same_path_in_each_run_and_one_of_its_own_beside_another_run() {
        let base = tempfile::tempdir().expect("a directory");
        let create = |test| Scratch::create_in(base.path(), test).expect("a directory");
        let first = create("a");
        let path = first.path().to_owned();
        let (second, other) = (create("a"), create("b"));
        for scratch in [&second, &other] {
            assert_ne!(scratch.path(), path);
            assert_eq!(scratch.path().len(), path.len());
        }
        drop(first);
        assert!(!Path::new(&path).exists());
        assert_eq!(create("a").path(), path);
    }

    #[test]
    fn the_files_of_a_killed_run_are_removed_and_nothing_else() {
        let base = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create_in(base.path(), "a").expect("a directory");
        let left = base.path().join("chess-0123456789z");
        fs::create_dir_all(left.join("d")).expect("a directory");
        let others = [
            "chess-race-mine-0",
            "chess-0123456789Z",
            "chess-01234567890z",
        ];
        for other in others {
            fs::create_dir(base.path().join(other)).expect("a directory");
        }
        sweep(base.path());
        assert!(!left.exists() && Path::new(scratch.path()).exists());
        assert!(others.iter().all(|other| base.path().join(other).exists()));
    }

    #[test]
    fn a_directory_that_was_left_is_emptied_before_it_is_used_again() {
        let base = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create_in(base.path(), "a").expect("a directory");
        let path = PathBuf::from(scratch.path());
        drop(scratch);
        fs::create_dir_all(path.join("d/e")).expect("a directory");
        fs::write(path.join("f"), "x").expect("a file");
        let again = Scratch::create_in(base.path(), "a").expect("a directory");
        assert_eq!(Path::new(again.path()), path);
        assert_eq!(fs::read_dir(&path).expect("it is there").count(), 0);
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_not_followed() {
        let base = tempfile::tempdir().expect("a directory");
        let target = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create_in(base.path(), "a").expect("a directory");
        let path = scratch.path().to_owned();
        drop(scratch);
        std::os::unix::fs::symlink(target.path(), &path).expect("a link");
        let other = Scratch::create_in(base.path(), "a").expect("a directory");
        assert_ne!(other.path(), path);
    }
}
