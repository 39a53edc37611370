//! A snapshot of a user's files, for comparison with a later snapshot.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// All files below a directory except `target`, each with its mode and its
/// bytes.
///
/// Directories are included, even empty ones.
#[derive(PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl Tree {
    /// Reads the current tree below `root`.
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).expect("the directory can be read") {
                let path = entry.expect("the directory can be read").path();
                let name = path
                    .strip_prefix(root)
                    .expect("it lies below the root")
                    .to_owned();
                if name == Path::new("target") {
                    continue;
                }
                let metadata = fs::symlink_metadata(&path).expect("the file is there");
                let content = if metadata.is_dir() {
                    open.push(path);
                    Vec::new()
                } else {
                    fs::read(&path).expect("the file can be read")
                };
                entries.insert(name, (metadata.permissions().mode(), content));
            }
        }
        Self { entries }
    }

    /// Replaces a text in a file, if the tree has this file.
    pub(crate) fn replace(&mut self, file: &Path, text: &str, by: &str) {
        if let Some((_, content)) = self.entries.get_mut(file) {
            let old = std::str::from_utf8(content).expect("the file is text");
            *content = old.replace(text, by).into_bytes();
        }
    }

    /// Panics with the names of the changed files, unless the tree below `root` is unchanged.
    #[track_caller]
    pub fn assert_same_as(&self, root: &Path) {
        let now = Self::of(root);
        let all = self.entries.keys().chain(now.entries.keys());
        let mut changed: Vec<_> = all
            .filter(|name| self.entries.get(*name) != now.entries.get(*name))
            .collect();
        changed.dedup();
        assert!(
            changed.is_empty(),
            "changed in the user's tree: {changed:?}"
        );
    }

    /// Makes the files below `root` equal to this tree: writes the files that differ, and removes
    /// files that are not in this tree. Unchanged files keep their times, so that cargo does not
    /// rebuild them.
    pub(crate) fn write_to(&self, root: &Path) {
        fs::create_dir_all(root).expect("the directory can be made");
        let present = Self::of(root);
        for name in present
            .entries
            .keys()
            .rev()
            .filter(|name| !self.entries.contains_key(*name))
        {
            let path = root.join(name);
            let removed = if path.is_dir() {
                fs::remove_dir(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.expect("it can be removed");
        }
        for (name, entry) in &self.entries {
            if present.entries.get(name) == Some(entry) {
                continue;
            }
            let (mode, content) = entry;
            let path = root.join(name);
            // The mode contains the type of the file.
            if mode & 0o170_000 == 0o040_000 {
                fs::create_dir_all(&path).expect("the directory can be made");
            } else {
                fs::write(&path, content).expect("the file can be written");
            }
            let permissions = fs::Permissions::from_mode(mode & 0o7777);
            fs::set_permissions(&path, permissions).expect("the mode can be set");
        }
    }
}
