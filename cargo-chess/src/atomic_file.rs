//! Writes a file as a whole: other processes see its old contents or its new contents, and never a
//! part of them.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;

/// The end of the names of files that are being written.
pub(crate) const NEW: &str = ".chess-new";

/// Writes `contents` to the file at `path`, in place of an earlier file.
///
/// The contents are written to another file in the same directory, which is then renamed.
pub(crate) fn write(path: &Utf8Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let directory = path.parent().filter(|it| !it.as_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".")
        .suffix(NEW)
        // The mode of an ordinary new file, from which the system takes the user's umask.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory.unwrap_or(Utf8Path::new(".")))?;
    file.write_all(contents.as_ref())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_reader_never_sees_a_part_of_a_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directory = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let path = directory.join("instructions.json");
        let text = "x".repeat(100_000);
        write(&path, &text).expect("it is written");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    write(&path, &text).expect("it is written");
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                let length = fs::read(&path).expect("it is there").len();
                assert_eq!(length, text.len());
            }
        });
        let names = directory.read_dir_utf8().expect("it is there");
        assert_eq!(names.count(), 1, "no other file is left");
    }

    #[test]
    fn a_new_file_has_the_mode_of_an_ordinary_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directory = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let mode = |name: &str| {
            let metadata = fs::metadata(directory.join(name)).expect("it is there");
            metadata.permissions().mode()
        };
        write(&directory.join("whole"), "text").expect("it is written");
        fs::write(directory.join("ordinary"), "text").expect("it is written");
        assert_eq!(mode("whole"), mode("ordinary"));
    }
}
