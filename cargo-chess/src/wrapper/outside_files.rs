//! The source files of a unit outside its package's directory.
//!
//! They are modules, included files, root files of targets, and the files that the package's build
//! script generated.
//!
//! Only the compiler can list these files, because it follows `#[path]`, `include!` and macros. It
//! writes its list of sources before it compiles. The files are read from this list, and stored in
//! a file for the next build.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::unit::Unit;
use crate::atomic_file;
use crate::digest;

/// The files, by their absolute paths without `.` and `..`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct OutsideFiles {
    /// The file that stores the list for the next build.
    known: Utf8PathBuf,
    /// For each file, the name that decides its treatment: relative to the package's directory in
    /// the compiler's form, as in `src/../../common/ring.rs`, or absolute.
    files: BTreeMap<Utf8PathBuf, Utf8PathBuf>,
}

impl OutsideFiles {
    /// Loads the stored files of `unit`, whose package has its copy at `copy`.
    pub(super) fn beside(copy: &Utf8Path, unit: &Unit) -> Self {
        let known = Utf8PathBuf::from(format!("{copy}.{}{}.outside", unit.crate_name, unit.extra));
        let text = fs::read(&known).unwrap_or_default();
        Self {
            files: serde_json::from_slice(&text).unwrap_or_default(),
            known,
        }
    }

    /// Adds a file. Returns whether it is new.
    pub(super) fn add(&mut self, file: &Utf8Path, name: &Utf8Path) -> bool {
        let is_new = !self.files.contains_key(file);
        if is_new {
            self.files.insert(file.to_owned(), name.to_owned());
        }
        is_new
    }

    /// Stores the files for the next build.
    pub(super) fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.files).expect("plain data");
        atomic_file::write(&self.known, text)
    }

    /// The name that decides the treatment of a file, if the file is one of the unit's files
    /// outside the package's directory.
    pub(super) fn name_of(&self, file: &Utf8Path) -> Option<&Utf8Path> {
        self.files.get(file).map(Utf8PathBuf::as_path)
    }

    /// The files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Utf8Path> {
        self.files.keys().map(Utf8PathBuf::as_path)
    }

    /// Whether any of the files is below `directory`.
    pub(super) fn has_any_below(&self, directory: &Utf8Path) -> bool {
        self.files().any(|file| file.starts_with(directory))
    }

    /// The directory for the copy of a unit with these files. `copy` is the directory for a unit
    /// without such files. Units with different files have different directories: a path may be a
    /// link in one copy and a directory in another one.
    pub(super) fn copy(&self, copy: &Utf8Path) -> Utf8PathBuf {
        if self.files.is_empty() {
            return copy.to_owned();
        }
        let text = serde_json::to_vec(&self.files).expect("plain data");
        Utf8PathBuf::from(format!("{copy}-{}", digest::short(&text, 8)))
    }
}

/// A path without `.` and `..`, as if no directory in it were a symbolic link.
pub(super) fn normalized(path: &Utf8Path) -> Utf8PathBuf {
    let mut normal = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_loses_its_parent_components() {
        let normal = normalized(Utf8Path::new("/ws/member/src/../../common/./ring.rs"));
        assert_eq!(normal, "/ws/common/ring.rs");
        assert_eq!(normalized(Utf8Path::new("/../x.rs")), "/x.rs");
    }

    #[test]
    fn units_with_the_same_files_share_a_copy() {
        let mut one = OutsideFiles::default();
        let copy = Utf8Path::new("/t/bank-1");
        assert_eq!(one.copy(copy), copy);
        assert!(one.add(Utf8Path::new("/x.rs"), Utf8Path::new("../x.rs")));
        assert!(!one.add(Utf8Path::new("/x.rs"), Utf8Path::new("../x.rs")));
        let other = OutsideFiles {
            known: "/t/elsewhere".into(),
            ..one.clone()
        };
        assert_eq!(one.copy(copy), other.copy(copy));
        assert_ne!(one.copy(copy), copy);
    }
}
