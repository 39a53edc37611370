//! The `[[exclusive]]` tables of Chess.toml: types whose methods exclude each other.

use std::ops::Range;

/// An `[[exclusive]]` table.
#[derive(Debug)]
pub(crate) struct ExclusiveEntry {
    /// The path of the type, as in `ring::Producer`: a package, modules, and the type.
    pub of: Name,
    /// The exclusive methods: a call of one must not overlap with a call of any method of the
    /// table. `None` stands for all methods that take `self` by reference and are not in
    /// `readers`.
    pub methods: Option<Vec<Name>>,
    /// The shared methods: their calls must not overlap with calls of exclusive methods, but may
    /// overlap with one another.
    pub readers: Vec<Name>,
}

/// A name in the file, and its place.
#[derive(Debug)]
pub(crate) struct Name {
    /// The text.
    pub text: String,
    /// The place.
    pub(super) span: Range<usize>,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
