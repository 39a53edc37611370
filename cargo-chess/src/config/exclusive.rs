//! The `[[exclusive]]` tables of Chess.toml: types whose methods exclude each other.

use std::ops::Range;

/// An `[[exclusive]]` table.
#[derive(Debug)]
pub(crate) struct ExclusiveEntry {
    /// The path of the type, as in `ring::Producer`: a package, modules, and the type.
    pub of: Name,
    /// The methods that exclude all others. `None` stands for all methods that take `self` by
    /// reference.
    pub methods: Option<Vec<Name>>,
    /// The methods that exclude those in `methods`, but not one another.
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
