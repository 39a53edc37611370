//! The data that the runner of a test needs, in a file in the target directory. `nextest.toml` adds
//! this file to archives.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::build::Build;
use crate::error::{Error, Result};
use crate::plan::Plan;

const FILE: &str = "chess-session.json";

/// A built workspace.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) plan: Plan,
    pub(super) build: Build,
    /// Cargo's flags that changed the build.
    pub(super) cargo_flags: String,
}

impl Saved {
    /// Writes the data into the target directory of the build.
    pub(super) fn write(&self) -> Result<()> {
        let path = self.build.target_dir.join(FILE);
        let text = serde_json::to_string(self).expect("it is plain data");
        atomic_file::write(&path, text).map_err(Error::io("write", &path))
    }

    /// Reads the data for the binary at `path`. If the workspace was moved, `root` is its root
    /// now.
    pub(super) fn of(path: &Utf8Path, root: &Utf8Path) -> Result<Self> {
        let mut directories = path.ancestors().skip(1);
        let file = directories
            .find_map(|directory| Some(directory.join(FILE)).filter(|file| file.is_file()))
            .ok_or_else(|| missing(path))?;
        let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        let unreadable = |error| {
            Error::Usage(format!(
                "{file} is not valid for this version of cargo-chess: {error}\n\
                 Build the tests, or their archive, anew with `cargo chess nextest`."
            ))
        };
        let saved: Self = serde_json::from_str(&text).map_err(unreadable)?;
        let then = &saved.plan.workspace_root;
        if then == root {
            return Ok(saved);
        }
        serde_json::from_str(&moved(&text, then, root)).map_err(unreadable)
    }
}

/// Replaces `then` by `now` at the start of each path in `text`.
fn moved(text: &str, then: &Utf8Path, now: &Utf8Path) -> String {
    let quoted = |path: &Utf8Path| {
        let text = serde_json::to_string(path).expect("a path is plain data");
        text.trim_end_matches('"').to_owned()
    };
    let (then, now) = (quoted(then), quoted(now));
    let inner = text.replace(&format!("{then}/"), &format!("{now}/"));
    inner.replace(&format!("{then}\""), &format!("{now}\""))
}

fn missing(path: &Utf8Path) -> Error {
    let name = Utf8PathBuf::from(FILE);
    Error::Usage(format!(
        "there is no {name} in a directory above {path}, so the build options of this test binary are unknown.\n\
         Build the tests with `cargo chess nextest`, or pack their archive with `cargo chess nextest \
         archive`. If .config/nextest.toml has its own `archive.include`, add {name} to this list, with \
         `relative-to = \"target\"`."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_with_missing_information_is_to_be_built_anew() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let binary = root.join("debug/deps/t");
        let error = || Saved::of(&binary, root).err().expect("nothing is known");
        let missing = error().to_string();
        assert!(
            missing.starts_with("there is no chess-session.json in a directory above ")
                && missing.contains("\nBuild the tests with `cargo chess nextest`, or"),
            "{missing}"
        );
        fs::write(root.join(FILE), "{}").expect("writable");
        let another = error().to_string();
        assert!(
            another.contains("is not valid for this version of cargo-chess: missing field")
                && another.contains("\nBuild the tests, or their archive, anew"),
            "{another}"
        );
    }

    #[test]
    fn a_workspace_that_was_moved_has_its_paths_moved() {
        let text = r#"{"root":"/old","file":"/old/src/lib.rs","other":"/older/x","id":"path+file:///old#a"}"#;
        assert_eq!(
            moved(text, "/old".into(), "/n\u{e4}w".into()),
            r#"{"root":"/näw","file":"/näw/src/lib.rs","other":"/older/x","id":"path+file:///old#a"}"#
        );
    }
}
