//! What of `std` a file reaches that is under control, and what that means now.
//!
//! Nothing of this needs an edit: the crates named `std`, `core` and `alloc` are
//! swapped. The audit is for people, who can see what is swapped below their code.

mod meaning;
mod scan;

pub use meaning::{Meaning, Treatment};

use crate::source::{Source, SyntaxError};

/// A name in a file that leads to something under control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// The line, from 1.
    pub line: usize,
    /// The column of its last part, from 1, in characters.
    pub column: usize,
    /// Where it leads to: `std::thread::spawn`, whether written so or as `thread::spawn`.
    pub path: String,
    /// Whether it is imported here; it is used, otherwise.
    pub is_import: bool,
    /// What it means.
    pub meaning: Meaning,
}

/// Lists what a file reaches, by line: what it imports, and each path that begins
/// with `std`, `core`, `alloc`, or a module of theirs that is imported. What is
/// imported by itself, as `Mutex`, is listed where that is done, not where it is used.
///
/// Lists what is there, within macros too: what `cfg` leaves out is not known here.
pub fn audit(text: &str) -> Result<Vec<Reach>, SyntaxError> {
    let source = Source::new(text);
    let mut found = scan::scan(&source, source.tokens()?);
    found.sort_by_key(|reach| (reach.line, reach.column));
    Ok(found)
}
