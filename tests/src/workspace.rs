//! Workspaces to run the tool in: copies of fixtures, and small packages made up on the spot.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::tool::build_dirs;
use crate::{Chess, Tree};

/// A directory with a user's workspace in it.
pub struct Workspace {
    root: PathBuf,
    /// Removes it at the end, where it is nobody else's.
    _temporary: Option<TempDir>,
}

const LOCKS: &str = r"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

fn locked(threads: u32, increments: u32) {
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..increments).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    assert_eq!(count.into_inner().unwrap(), threads * increments);
}
";

impl Workspace {
    /// The copy of a fixture that all tests share, its target directory with it:
    /// built once. Nothing but the target directory may change in it.
    pub fn shared(fixture: &str) -> Self {
        let root = build_dirs().target.join("end-to-end").join(fixture);
        fs::create_dir_all(&root).expect("the directory can be made");
        // Other tests, of this process or of another, may be doing the same.
        let lock = File::create(root.with_extension("lock")).expect("the file can be made");
        lock.lock().expect("the file can be locked");
        Tree::of(&source_of(fixture)).write_to(&root);
        Self {
            root,
            _temporary: None,
        }
    }

    /// A copy of a fixture for one test alone.
    pub fn copy_of(fixture: &str) -> Self {
        let workspace = Self::empty();
        Tree::of(&source_of(fixture)).write_to(&workspace.root);
        workspace
    }

    /// A copy of a fixture in a directory called `name`, for one test alone.
    pub fn copy_called(name: &str, fixture: &str) -> Self {
        let mut workspace = Self::empty();
        workspace.root.push(name);
        Tree::of(&source_of(fixture)).write_to(&workspace.root);
        workspace
    }

    /// The directory `name` beside the shared copies: made by `fill` at the first
    /// call, and then kept.
    pub fn kept(name: &str, fill: impl FnOnce(&Self)) -> Self {
        let root = build_dirs().target.join("end-to-end").join(name);
        if !root.exists() {
            let parent = root.parent().expect("it is not the root of all");
            fs::create_dir_all(parent).expect("the directory can be made");
            let new = Self::empty();
            fill(&new);
            // In one step: who finds it finds all of it.
            fs::rename(&new.root, &root).expect("it can be moved on one disk");
        }
        Self {
            root,
            _temporary: None,
        }
    }

    /// A directory with nothing in it.
    pub fn empty() -> Self {
        let place = build_dirs().target.join("end-to-end/tmp");
        fs::create_dir_all(&place).expect("the directory can be made");
        let temporary = tempfile::Builder::new()
            .prefix("chess-")
            .tempdir_in(place)
            .expect("a temporary directory can be made");
        Self {
            root: temporary.path().to_owned(),
            _temporary: Some(temporary),
        }
    }

    /// As [`Self::with_library`]: a library of `tests` that may call `locked(threads,
    /// increments)`, whose space is as large as these say.
    pub fn with_locks(tests: &str) -> Self {
        Self::with_library(&format!("{LOCKS}{tests}"))
    }

    /// A package `small` whose library is `source`.
    pub fn with_library(source: &str) -> Self {
        let workspace = Self::empty();
        workspace.write(
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        );
        workspace.write(
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n",
        );
        workspace.write("src/lib.rs", source);
        workspace
    }

    /// Its root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file beside its root that keeps `what` is known of it.
    pub fn beside(&self, what: &str) -> PathBuf {
        let mut path = self.root.as_os_str().to_owned();
        path.push(format!(".{what}"));
        path.into()
    }

    /// Writes a file, its directories with it.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.root.join(name);
        let dir = path.parent().expect("it lies below the root");
        fs::create_dir_all(dir).expect("the directory can be made");
        fs::write(path, content).expect("the file can be written");
    }

    /// Makes its files those of `source`.
    pub fn fill_with(&self, source: &Path) {
        Tree::of(source).write_to(&self.root);
    }

    /// The files as they are now.
    pub fn tree(&self) -> Tree {
        Tree::of(&self.root)
    }

    /// A call of the tool here.
    pub fn chess(&self, args: &[&str]) -> Chess {
        Chess::new(&self.root, args)
    }

    /// A shell script here that calls the tool as `"$CHESS"`.
    pub fn shell(&self, script: &str) -> Chess {
        Chess::in_shell(&self.root, script)
    }

    /// `text` with the paths of this workspace and of its neighbours made the same everywhere.
    pub fn redact(&self, text: &str) -> String {
        let neighbours = build_dirs().target.join("end-to-end");
        text.replace(&*self.root.to_string_lossy(), "[ROOT]")
            .replace(&*neighbours.to_string_lossy(), "[PLACE]")
    }
}

/// Where the files of a fixture are. They must not be changed.
pub fn source_of(fixture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(fixture)
}
