//! The source files of a package.

use std::io::{self, ErrorKind};

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{Error, Result};

/// The `.rs` files below `root`, relative to it and sorted. Packages inside it, hidden directories
/// and directories with the name `target` are left out.
pub(super) fn rust_files(root: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![Utf8PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let path = root.join(&directory);
        let visited = visit(&path, |name, is_directory| {
            let relative = directory.join(name);
            if is_directory {
                let foreign = name.starts_with('.')
                    || name == "target"
                    || path.join(name).join("Cargo.toml").exists();
                if !foreign {
                    directories.push(relative);
                }
            } else if relative.extension() == Some("rs") {
                files.push(relative);
            }
        });
        match visited {
            // A directory that must not be read, such as that of a database, contains no sources.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            visited => visited.map_err(Error::io("read the directory", &path))?,
        }
    }
    files.sort();
    Ok(files)
}

fn visit(directory: &Utf8Path, mut entry: impl FnMut(&str, bool)) -> io::Result<()> {
    for found in directory.read_dir_utf8()? {
        // A path in a source file cannot have a name that is not UTF-8.
        let Ok(found) = found else { continue };
        // A symbolic link is not followed, because it may lead to any directory, even to one
        // above.
        entry(found.file_name(), found.file_type()?.is_dir());
    }
    Ok(())
}
