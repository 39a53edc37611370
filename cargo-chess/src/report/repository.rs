//! The paths of source files relative to the repository that has the workspace, as services name
//! them.

use camino::{Utf8Path, Utf8PathBuf};

/// A workspace and the repository around it.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    workspace: Utf8PathBuf,
    root: Utf8PathBuf,
}

impl Repository {
    /// The repository that contains the workspace at `root`. If there is none, the workspace
    /// itself.
    pub(super) fn around(root: &Utf8Path) -> Self {
        let workspace = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
        // In a linked work tree and in a submodule, `.git` is a file.
        let mut above = workspace.ancestors();
        let root = above.find(|directory| directory.join(".git").exists());
        Self {
            root: root.unwrap_or(&workspace).to_owned(),
            workspace,
        }
    }

    /// The path of a source file relative to the repository's root, with slashes. `None` if the
    /// file does not exist or is outside the repository.
    ///
    /// `file` is the path that the compiler uses: relative to the workspace's root, or absolute.
    pub(super) fn path_of(&self, file: &str) -> Option<String> {
        let path = self.workspace.join(file);
        let inside = path.strip_prefix(&self.root).ok()?;
        path.is_file().then(|| inside.as_str().replace('\\', "/"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_named_from_the_root_of_the_repository_on() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let root = root.canonicalize_utf8().unwrap();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/rust/src")).unwrap();
        fs::write(root.join("repo/rust/src/lib.rs"), "").unwrap();
        fs::write(root.join("other.rs"), "").unwrap();
        let repository = Repository::around(&root.join("repo/rust"));
        let inside = Some("rust/src/lib.rs".to_owned());
        assert_eq!(repository.path_of("src/lib.rs"), inside);
        let absolute = root.join("repo/rust/src/lib.rs");
        assert_eq!(repository.path_of(absolute.as_str()), inside);
        assert_eq!(repository.path_of(root.join("other.rs").as_str()), None);
        assert_eq!(repository.path_of("src/gone.rs"), None);
    }
}
