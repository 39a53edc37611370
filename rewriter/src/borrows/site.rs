//! Sites: places in a text at which a reference to raw memory is created, and the reasons why some
//! sites are not changed.

use std::fmt;

use crate::mutable_statics::MutableStatics;

/// The kind of the borrow at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// `&*p`, `let ref x = *p`.
    Borrow,
    /// `&mut *p`, `let ref mut x = *p`.
    BorrowMut,
    /// `p.as_ref()`, `assume_init_ref`.
    BorrowThrough,
    /// `p.as_mut()`, `assume_init_mut`.
    BorrowMutThrough,
    /// `p.drop_in_place()`, `assume_init_drop`: the value is dropped through a unique reference.
    DropThrough,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Borrow => "borrow",
            Self::BorrowMut => "mutable borrow",
            Self::BorrowThrough => "borrow by method",
            Self::BorrowMutThrough => "mutable borrow by method",
            Self::DropThrough => "drop by method",
        })
    }
}

/// The reason why no text is inserted at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Left {
    /// The code may also be evaluated at compile time.
    Constant,
    /// The site is in the definition of a macro, or in an argument of a macro that is not an
    /// expression.
    Macro,
    /// A message contains the source text of the expression.
    Message,
    /// Temporary values may have to live as long as the reference.
    Temporary,
    /// The expression that computes the place cannot be evaluated twice.
    Computed,
    /// The caller excluded the site, because rustc rejected its edit.
    Refused,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Constant => "computed while compiling",
            Self::Macro => "within a macro",
            Self::Message => "its text is part of a message",
            Self::Temporary => "temporary values may live on",
            Self::Computed => "its address is computed",
            Self::Refused => "did not compile",
        })
    }
}

/// The identity of a site within its file, independent of all edits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId {
    /// The line of the original text, from 1.
    pub line: usize,
    /// The column of the original text, from 1, in characters: the column of the `*`, of the
    /// static's path, or of the method's name.
    pub column: usize,
    /// The kind of the borrow.
    pub kind: Kind,
}

/// A reference to raw memory that unsafe code creates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The identity of the site.
    pub id: SiteId,
    /// The byte offset in the original text at which the place, or the call, begins.
    pub start: usize,
    /// The byte offset in the original text at which the place, or the call, ends.
    pub end: usize,
    /// The reason why no text is inserted, or `None` if the reference is reported.
    pub left: Option<Left>,
}

/// A request to report the borrows in unsafe code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Borrows<'a> {
    /// The mutable statics of the package.
    pub statics: &'a MutableStatics,
    /// The sites to leave unchanged, for example because rustc rejected their edits.
    pub without: &'a [SiteId],
}
