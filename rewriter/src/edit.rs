//! An insertion into the text of a file.

use std::borrow::Cow;

/// A mark: the statement that announces to the engine that control has returned to the package's
/// own code.
pub const MARK: &str = "__chess_mark!();";

/// An insertion of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The byte offset in the original text.
    pub at: usize,
    /// The inserted text, without line breaks.
    pub text: Cow<'static, str>,
    /// The index of the edit's site in [`Rewrite::sites`](crate::Rewrite::sites), if it has one.
    pub site: Option<usize>,
}

impl Edit {
    pub(crate) fn new(at: usize, text: &'static str) -> Self {
        Self {
            at,
            text: Cow::Borrowed(text),
            site: None,
        }
    }

    pub(crate) fn of_site(at: usize, text: String, site: usize) -> Self {
        Self {
            at,
            text: Cow::Owned(text),
            site: Some(site),
        }
    }

    pub(crate) fn marks(&self) -> usize {
        self.text.matches(MARK).count()
    }
}
