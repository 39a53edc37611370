//! Workspaces for calls of the tool: copies of fixtures, and small generated packages.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::tool::build_dirs;
use crate::{Chess, Tree};

/// A directory with a user's workspace in it.
pub struct Workspace {
    root: PathBuf,
    /// Removes the directory when the workspace is dropped. `None` if several tests share the
    /// directory.
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
    /// Returns the copy of a fixture that all tests share. The tests also share its target
    /// directory, so that the fixture is built only once. Tests may change only this target
    /// directory.
    pub fn shared(fixture: &str) -> Self {
        let root = build_dirs().target.join("end-to-end").join(fixture);
        fs::create_dir_all(&root).expect("the directory can be made");
        // Other tests, in this process or in another one, may fill the copy at the same time.
        let lock = File::create(root.with_extension("lock")).expect("the file can be made");
        lock.lock().expect("the file can be locked");
        tree_of(fixture).write_to(&root);
        Self {
            root,
            _temporary: None,
        }
    }

    /// Returns a copy of a fixture for one test alone.
    pub fn copy_of(fixture: &str) -> Self {
        let workspace = Self::empty();
        tree_of(fixture).write_to(&workspace.root);
        workspace
    }

    /// Returns a copy of a fixture for one test alone, in a directory called `name`.
    pub fn copy_called(name: &str, fixture: &str) -> Self {
        let mut workspace = Self::empty();
        workspace.root.push(name);
        tree_of(fixture).write_to(&workspace.root);
        workspace
    }

    /// Returns the directory `name` next to the shared copies. The first call creates the
    /// directory with `fill`. Later calls, also of later runs, return it unchanged.
    pub fn kept(name: &str, fill: impl FnOnce(&Self)) -> Self {
        let root = build_dirs().target.join("end-to-end").join(name);
        if !root.exists() {
            let parent = root.parent().expect("it is not the root of all");
            fs::create_dir_all(parent).expect("the directory can be made");
            let new = Self::empty();
            fill(&new);
            // The rename is atomic: another process finds either no directory or a complete one.
            fs::rename(&new.root, &root).expect("it can be moved on one disk");
        }
        Self {
            root,
            _temporary: None,
        }
    }

    /// Returns an empty directory.
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

    /// Like [`Self::with_library`], for a library with `tests` and a function `locked(threads,
    /// increments)`, which the tests may call. The arguments of this function determine the number
    /// of schedules.
    pub fn with_locks(tests: &str) -> Self {
        Self::with_library(&format!("{LOCKS}{tests}"))
    }

    /// Returns a package `small` whose library is `source`.
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

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file next to the root directory, for data about this workspace.
    /// `what` is the name of the data.
    pub fn beside(&self, what: &str) -> PathBuf {
        let mut path = self.root.as_os_str().to_owned();
        path.push(format!(".{what}"));
        path.into()
    }

    /// Writes a file, and creates its directories.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.root.join(name);
        let dir = path.parent().expect("it lies below the root");
        fs::create_dir_all(dir).expect("the directory can be made");
        fs::write(path, content).expect("the file can be written");
    }

    /// Whether the journal has a whole file with this extension: `search` for the state of a search,
    /// `verdict` for a verdict.
    ///
    /// A file that is still being written has another extension. A kill leaves that file there.
    pub fn has_in_journal(&self, extension: &str) -> bool {
        let entries = fs::read_dir(self.root.join("target/chess/journal"));
        let mut paths = entries.into_iter().flatten().flatten().map(|it| it.path());
        paths.any(|path| path.extension().is_some_and(|it| it == extension))
    }

    /// Makes the files of the workspace equal to those of `source`.
    pub fn fill_with(&self, source: &Path) {
        Tree::of(source).write_to(&self.root);
    }

    /// Returns the current files.
    pub fn tree(&self) -> Tree {
        Tree::of(&self.root)
    }

    /// Returns a call of the tool in this workspace.
    pub fn chess(&self, args: &[&str]) -> Chess {
        Chess::new(&self.root, args)
    }

    /// Returns a shell script in this workspace that calls the tool as `"$CHESS"`.
    pub fn shell(&self, script: &str) -> Chess {
        Chess::in_shell(&self.root, script)
    }

    /// Returns `text` with placeholders for the paths of this workspace and of its neighbours.
    pub fn redact(&self, text: &str) -> String {
        let neighbours = build_dirs().target.join("end-to-end");
        text.replace(&*self.root.to_string_lossy(), "[ROOT]")
            .replace(&*neighbours.to_string_lossy(), "[PLACE]")
    }
}

/// The files of a fixture. Their paths to crates of this repository are changed so that they are
/// valid in any directory.
fn tree_of(fixture: &str) -> Tree {
    let mut tree = Tree::of(&source_of(fixture));
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    let runtime = runtime.canonicalize().expect("the directory is there");
    let path = runtime.to_str().expect("a path in UTF-8");
    tree.replace(Path::new("Cargo.toml"), "../../runtime", path);
    tree
}

/// Returns the directory of a fixture. Its files must not be changed.
pub fn source_of(fixture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(fixture)
}
