//! The operations on files for `changed_copy`, which build directories of links and files in the
//! shape of other directories.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;

use camino::{Utf8Path, Utf8PathBuf};

use crate::atomic_file::{self, NEW};

/// Makes `to` a real directory, if it is not one.
pub(super) fn directory(to: &Utf8Path) -> io::Result<()> {
    if to.is_symlink() {
        ignore(fs::remove_file(to), ErrorKind::NotFound)?;
    }
    fs::create_dir_all(to)
}

/// Removes the contents of the directory `to`, except for the names for which `is_kept` returns
/// true.
pub(super) fn remove_others(to: &Utf8Path, is_kept: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in to.read_dir_utf8()? {
        let entry = entry?;
        let is_new = entry.file_name().ends_with(NEW);
        if !is_new && !is_kept(entry.file_name()) {
            let removed = if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
            ignore(removed, ErrorKind::NotFound)?;
        }
    }
    Ok(())
}

/// Writes a file atomically, because several compilers may need one copy at the same time.
pub(super) fn write(to: &Utf8Path, text: &str) -> io::Result<()> {
    if !to.is_symlink() && fs::read_to_string(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    atomic_file::write(to, text)
}

/// Makes `to` a symbolic link to `from`.
pub(super) fn link(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    if fs::read_link(to).is_ok_and(|target| target == from) {
        return Ok(());
    }
    let new = Utf8PathBuf::from(format!("{to}.{}{NEW}", std::process::id()));
    symlink(from, &new)?;
    if to.is_dir() && !to.is_symlink() {
        ignore(fs::remove_dir_all(to), ErrorKind::NotFound)?;
    }
    fs::rename(&new, to)
}

/// Ignores an error of the kind `kind`, because another compiler may have done the same operation
/// before.
fn ignore(result: io::Result<()>, kind: ErrorKind) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != kind => Err(error),
        _ => Ok(()),
    }
}
