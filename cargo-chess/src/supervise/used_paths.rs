//! The paths that a test uses outside its own directory for temporary files.
//!
//! Two tests conflict if one of them writes a path that the other uses. Most tests read files that
//! no test changes. So a path that a test only reads counts only if its file may have changed since
//! the run began, according to the file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::symlink_metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::protocol::Finished;

/// The file with the paths that the tests of earlier runs used.
const FILE: &str = "used-paths.json";

/// The path that stands for all paths.
const ALL: &str = "/";

/// The first part of a path that stands for a port of the network, whose number follows.
pub(super) const PORT: &str = "/port:";

/// The highest lag of a file's times behind the clock. The file system uses the time of the
/// kernel's last tick.
const LAG: Duration = Duration::from_millis(20);

/// Some paths. A path that ends in `/` also stands for all paths below it.
pub(super) type Paths = BTreeSet<String>;

/// The paths that a test uses outside its own directory for temporary files.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct UsedPaths {
    pub(super) written: Paths,
    /// The paths that the test only read, and that have changed since the start of the run.
    #[serde(default)]
    pub(super) read: Paths,
}

impl UsedPaths {
    /// The paths of a test that has ended, in a run that began at `start`.
    pub(super) fn of(finished: &Finished, start: SystemTime) -> Self {
        let read = finished.read.iter();
        Self {
            written: finished.written.iter().cloned().collect(),
            read: read
                .filter(|path| has_changed(path, start))
                .cloned()
                .collect(),
        }
    }

    /// Whether the test cannot conflict with another test.
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.read.is_empty()
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.written.extend(other.written);
        self.read.extend(other.read);
    }

    /// Whether the tests of `self` and `other` conflict: one of them writes a path that the other
    /// one uses.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        meet(&self.written, &other.written)
            || meet(&self.written, &other.read)
            || meet(&self.read, &other.written)
    }
}

/// Whether a path of `some` overlaps with a path of `others`.
fn meet(some: &Paths, others: &Paths) -> bool {
    some.iter()
        .any(|one| others.iter().any(|other| overlap(one, other)))
}

/// Whether two paths are equal, or one of them ends in `/` and the other is below it.
fn overlap(one: &str, other: &str) -> bool {
    let is_below = |path: &str, all: &str| all.ends_with('/') && path.starts_with(all);
    one.trim_end_matches('/') == other.trim_end_matches('/')
        || is_below(one, other)
        || is_below(other, one)
}

/// Whether the file at this path may have changed since `start`: it was created, removed or
/// replaced, or its contents, entries or attributes have changed.
fn has_changed(path: &str, start: SystemTime) -> bool {
    if path == ALL {
        return true;
    }
    // If there is no file, it may have been removed. This would have changed the nearest directory
    // above it that exists.
    for path in Path::new(path).ancestors() {
        match symlink_metadata(path) {
            Ok(found) => {
                let seconds = u64::try_from(found.ctime()).unwrap_or(0);
                let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or(0);
                let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
                return changed + LAG >= start;
            }
            Err(error) if is_absence(error.kind()) => {}
            Err(_) => return true,
        }
    }
    true
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The paths that the tests of earlier runs used, by the names of the tests.
pub(super) fn read(dir: &Utf8Path) -> BTreeMap<String, UsedPaths> {
    let text = std::fs::read_to_string(dir.join(FILE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Saves the paths for later runs. If this fails, a later run determines them again.
pub(super) fn keep<'a>(
    dir: &Utf8Path,
    tests: impl Iterator<Item = (&'a String, Option<&'a UsedPaths>)>,
) {
    let mut all = read(dir);
    let before = all.clone();
    for (name, used) in tests {
        match used {
            Some(used) if !used.is_empty() => drop(all.insert(name.clone(), used.clone())),
            _ => drop(all.remove(name)),
        }
    }
    if all != before
        && let Ok(text) = serde_json::to_string(&all)
    {
        let _ = atomic_file::write(&dir.join(FILE), text);
    }
}

/// The groups of conflicting tests: all tests of a group use the same path, and at least one of
/// them writes it. For each group: this path, and the names of its tests in order.
pub(super) fn groups<'a>(
    tests: impl Iterator<Item = (&'a String, Option<&'a UsedPaths>)>,
) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut users: BTreeMap<&str, (bool, BTreeSet<&str>)> = BTreeMap::new();
    for (name, used) in tests {
        let Some(used) = used else { continue };
        let written = used.written.iter().map(|path| (path, true));
        let read = used.read.iter().map(|path| (path, false));
        for (path, is_written) in written.chain(read).filter(|(path, _)| *path != ALL) {
            let entry = users.entry(path.trim_end_matches('/')).or_default();
            entry.0 |= is_written;
            entry.1.insert(name);
        }
    }
    // Directories come before their contents. So if the tests of a group use a directory and files
    // in it, the path of the group is the directory.
    let mut first: Vec<(&str, Vec<&str>)> = Vec::new();
    for (path, (is_written, names)) in users {
        let names: Vec<&str> = names.into_iter().collect();
        if is_written && names.len() > 1 && first.iter().all(|(_, others)| *others != names) {
            first.push((path, names));
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, remove_file, write};

    use super::*;

    fn used(written: &[&str], read: &[&str]) -> UsedPaths {
        let paths = |paths: &[&str]| paths.iter().map(ToString::to_string).collect();
        UsedPaths {
            written: paths(written),
            read: paths(read),
        }
    }

    #[test]
    fn tests_conflict_where_one_writes_a_path_that_the_other_uses() {
        let writer = used(&["/d/x"], &["/e"]);
        for (other, conflicts) in [
            (used(&["/d/x"], &[]), true),
            (used(&["/d/"], &[]), true),
            (used(&[], &["/d/"]), true),
            (used(&[], &["/"]), true),
            (used(&["/d"], &[]), false),
            (used(&[], &["/e"]), false),
            (used(&["/e"], &[]), true),
        ] {
            assert_eq!(writer.conflicts(&other), conflicts, "{other:?}");
            assert_eq!(other.conflicts(&writer), conflicts, "{other:?}");
        }
    }

    #[test]
    fn a_path_that_is_only_read_counts_once_it_has_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
        for name in ["old", "changed", "removed"] {
            write(path(name), "x").expect("it can be written");
        }
        for name in ["unchanged", "listed"] {
            create_dir(path(name)).expect("it can be created");
        }
        std::thread::sleep(2 * LAG);
        let start = SystemTime::now();
        let read = |name: &str| {
            let finished = Finished {
                read: vec![name.to_owned()],
                ..Finished::new(crate::events::Outcome::Passed)
            };
            !UsedPaths::of(&finished, start).is_empty()
        };
        for name in [
            "old",
            "changed",
            "removed",
            "unchanged/",
            "listed/",
            "absent/x",
        ] {
            assert!(!read(&path(name)), "{name}");
        }
        write(path("changed"), "y").expect("it can be written");
        write(path("listed/x"), "y").expect("it can be written");
        remove_file(path("removed")).expect("it can be removed");
        for (name, counts) in [
            ("old", false),
            ("unchanged/", false),
            ("unchanged/x/y", false),
            ("old/x", false),
            ("changed", true),
            ("listed/", true),
            ("listed/x", true),
            ("removed", true),
            ("absent/x", true),
        ] {
            assert_eq!(read(&path(name)), counts, "{name}");
        }
        assert!(read(ALL));
    }
}
