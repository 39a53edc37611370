//! The path of this program. Cargo starts it as the compiler's wrapper and as the runner of tests.

use std::path::PathBuf;
use std::{env, io};

use camino::Utf8PathBuf;

use crate::error::{Error, Result};

/// The path of this program.
pub(crate) fn path() -> Result<PathBuf> {
    known(env::current_exe())
}

/// The path as text, for uses that accept only text.
pub(crate) fn path_as_text() -> Result<Utf8PathBuf> {
    as_text(path()?)
}

fn known(path: io::Result<PathBuf>) -> Result<PathBuf> {
    path.map_err(|error| {
        Error::Unsupported(format!(
            "the path of this program could not be read: {error}.\n\
             cargo chess reads the path from /proc: mount /proc."
        ))
    })
}

fn as_text(path: PathBuf) -> Result<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(path).map_err(|path| {
        Error::Unsupported(format!(
            "the path of this program, {}, is not UTF-8. `cargo chess nextest` puts this path into \
             cargo's configuration, which accepts only UTF-8.\n\
             Install cargo chess in a directory whose path is UTF-8.",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn an_unknown_path_and_a_path_that_is_not_utf_8_are_errors_with_a_remedy() {
        let unknown = known(Err(io::ErrorKind::NotFound.into())).expect_err("no path");
        insta::assert_snapshot!(unknown, @r"
        the path of this program could not be read: entity not found.
        cargo chess reads the path from /proc: mount /proc.
        ");
        let bytes = b"/opt/\xff/cargo-chess".to_vec();
        let no_text = as_text(OsString::from_vec(bytes).into()).expect_err("no text");
        insta::assert_snapshot!(no_text, @r"
        the path of this program, /opt/�/cargo-chess, is not UTF-8. `cargo chess nextest` puts this path into cargo's configuration, which accepts only UTF-8.
        Install cargo chess in a directory whose path is UTF-8.
        ");
    }
}
