//! The snapshots of a workspace, in insta's format: the last reviewed state.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};

use super::diff;
use super::reviewed::Reviewed;
use crate::error::{Error, Result};

/// The directory of the snapshots, below the workspace's root.
pub(crate) const DIRECTORY: &str = "chess-snapshots";

/// The suffix of the files that `cargo insta review` reviews.
const PROPOSED: &str = "new";

/// The directory of the snapshots.
pub(super) struct Snapshots {
    directory: Utf8PathBuf,
}

/// A snapshot that differs from the current state.
pub(super) struct Difference {
    name: String,
    /// The current text; `None` if the snapshot is obsolete.
    now: Option<String>,
    /// The difference.
    pub(super) diff: String,
}

impl Snapshots {
    pub(super) fn of(workspace_root: &Utf8Path) -> Self {
        Self {
            directory: workspace_root.join(DIRECTORY),
        }
    }

    /// The differences from the reviewed state, sorted by name.
    pub(super) fn compare(&self, reviewed: &[Reviewed]) -> Result<Vec<Difference>> {
        let mut known = self.names()?;
        let mut differences = Vec::new();
        for one in reviewed {
            let name = name_of(one);
            known.remove(&name);
            let old = self.read(&name)?;
            if contents(&old) != one.text.trim_end() {
                differences.push(Difference {
                    diff: difference(&name, contents(&old), &one.text),
                    now: Some(snapshot(one)),
                    name,
                });
            }
        }
        for name in known {
            let old = self.read(&name)?;
            differences.push(Difference {
                diff: difference(&name, contents(&old), ""),
                now: None,
                name,
            });
        }
        differences.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(differences)
    }

    /// Replaces the snapshots by the current state. Returns the number of snapshots that changed.
    pub(super) fn accept(&self, reviewed: &[Reviewed]) -> Result<usize> {
        let differences = self.compare(reviewed)?;
        for difference in &differences {
            let path = self.directory.join(&difference.name);
            match &difference.now {
                Some(text) => self.write(&path, text)?,
                None => fs::remove_file(&path).map_err(Error::io("remove", &path))?,
            }
            // The proposal is accepted, so its file is removed.
            let proposed = Utf8PathBuf::from(format!("{path}.{PROPOSED}"));
            match fs::remove_file(&proposed) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", &proposed)(error));
                }
                _ => {}
            }
        }
        Ok(differences.len())
    }

    /// Writes the changed snapshots as proposals for `cargo insta review`.
    pub(super) fn propose(&self, differences: &[Difference]) -> Result<()> {
        for difference in differences {
            if let Some(text) = &difference.now {
                let name = format!("{}.{PROPOSED}", difference.name);
                self.write(&self.directory.join(name), text)?;
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<BTreeSet<String>> {
        let entries = match self.directory.read_dir_utf8() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(Error::io("read", &self.directory))?,
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &self.directory))?;
            if entry.path().extension() == Some("snap") {
                names.insert(entry.file_name().to_owned());
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.directory.join(name);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            text => text.map_err(Error::io("read", &path)),
        }
    }

    fn write(&self, path: &Utf8Path, text: &str) -> Result<()> {
        fs::create_dir_all(&self.directory)
            .map_err(Error::io("create the directory", &self.directory))?;
        fs::write(path, text).map_err(Error::io("write", path))
    }
}

/// The name of a file's snapshot.
fn name_of(one: &Reviewed) -> String {
    let file = one.file.as_str().replace('/', "__");
    format!("{}__{file}.snap", one.package)
}

/// A snapshot in insta's format.
fn snapshot(one: &Reviewed) -> String {
    let (package, file, text) = (&one.package, &one.file, one.text.trim_end());
    format!("---\nsource: {package}/{file}\nexpression: cargo chess rewrite\n---\n{text}\n")
}

/// The contents of a snapshot after its header. Blank lines at the end do not count, because insta
/// ignores them.
fn contents(snapshot: &str) -> &str {
    let rest = snapshot.strip_prefix("---\n");
    let rest = rest.and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(snapshot, |(_, contents)| contents).trim_end()
}

fn difference(name: &str, old: &str, new: &str) -> String {
    let name = format!("{DIRECTORY}/{name}");
    diff::of_texts(&name, old, &name, new)
}
