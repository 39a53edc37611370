//! The audit of a file: its uses of the controlled parts of `std`, and their meaning under
//! control.
//!
//! These uses need no edit, because the build replaces the crates `std`, `core` and `alloc` by
//! facades. The audit shows the user which items of `std` in their code are under control.

mod meaning;
mod scan;

pub use meaning::{Meaning, Treatment};

use crate::source::{Source, SyntaxError};

/// A name in a file that refers to an item under control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// The line, from 1.
    pub line: usize,
    /// The column of the last part of the path, from 1, in characters.
    pub column: usize,
    /// The full path: `std::thread::spawn`, even if the file has `thread::spawn`.
    pub path: String,
    /// Whether the name is imported here. If not, it is used here.
    pub is_import: bool,
    /// The meaning of the item.
    pub meaning: Meaning,
}

/// Lists the controlled items that a file refers to, by line: its imports, and each path that
/// begins with `std`, `core`, `alloc`, or a module that was imported from these. An item that is
/// itself imported, such as `Mutex`, is listed at its import and not at its uses.
///
/// Names within macros are listed too. Code that `cfg` removes is also listed, because `cfg` is not
/// evaluated here.
pub fn audit(text: &str) -> Result<Vec<Reach>, SyntaxError> {
    let source = Source::new(text);
    let mut found = scan::scan(&source, source.tokens()?);
    found.sort_by_key(|reach| (reach.line, reach.column));
    Ok(found)
}
