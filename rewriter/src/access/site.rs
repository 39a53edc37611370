//! Sites: places in a text where memory is accessed, and the reasons to leave some unchanged.

use std::fmt;

use crate::declarations::Declarations;

/// The kind of the memory access at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// The whole place is read: `x = *p`.
    Read,
    /// The place is read in whole or in part: `match *p`, `*p == *q`, `macro!(*p)`.
    Inspect,
    /// `*p = x`.
    Write,
    /// `*p += x`.
    Update,
    /// `&*p`, `ref x` of it.
    Borrow,
    /// `&mut *p`, `ref mut x` of it.
    BorrowMut,
    /// A method of the place is called, or the place itself: `(*p).f()`, `(*p)()`.
    Receive,
    /// `p.read()`, `read_volatile`, `read_unaligned`, `assume_init_read`.
    ReadThrough,
    /// `p.write(x)`, `write_volatile`, `write_unaligned`, `write_bytes`.
    WriteThrough,
    /// `p.replace(x)`, `p.swap(q)`.
    UpdateThrough,
    /// `p.copy_to(q, n)`, `p.copy_from(q, n)`.
    CopyThrough,
    /// `p.as_ref()`, `assume_init_ref`.
    BorrowThrough,
    /// `p.as_mut()`, `assume_init_mut`.
    BorrowMutThrough,
    /// `p.drop_in_place()`, `assume_init_drop`.
    DropThrough,
}

impl Kind {
    /// Whether a reference is created, or a value is dropped as if by a unique one.
    pub(super) fn is_borrow(self) -> bool {
        matches!(
            self,
            Self::Borrow
                | Self::BorrowMut
                | Self::BorrowThrough
                | Self::BorrowMutThrough
                | Self::DropThrough
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Inspect => "inspection",
            Self::Write => "write",
            Self::Update => "update",
            Self::Borrow => "borrow",
            Self::BorrowMut => "mutable borrow",
            Self::Receive => "receiver",
            Self::ReadThrough => "read by method",
            Self::WriteThrough => "write by method",
            Self::UpdateThrough => "update by method",
            Self::CopyThrough => "copy by method",
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
    /// The site is in the definition of a macro, or in an argument that is not an expression.
    Macro,
    /// A message contains the source text of the expression.
    Message,
    /// A field of a packed type may be unaligned, so that no pointer to it may be read.
    Packed,
    /// Temporary values may have to live as long as the borrow.
    Temporary,
    /// The expression that computes the place, or the length of the access, cannot be evaluated
    /// twice.
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
            Self::Packed => "a field of a packed type",
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
    /// The column of the original text, from 1, in characters. It is the column of the `*`, of the
    /// static's name or of the method's name.
    pub column: usize,
    /// The kind of the memory access.
    pub kind: Kind,
}

/// A memory access of unsafe code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The identity of the site.
    pub id: SiteId,
    /// The byte offset in the original text where the place, or the call, begins.
    pub start: usize,
    /// The byte offset in the original text where it ends.
    pub end: usize,
    /// The number of pointers that are read on the way to the place: two in `(*(*(*a).b).c).d`.
    pub pointers: usize,
    /// The reason why no text is inserted, or `None` if the access is reported.
    pub left: Option<Left>,
}

/// The selection of sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accesses<'a> {
    /// The declarations of the package.
    pub declarations: &'a Declarations,
    /// The sites to leave unchanged.
    pub without: &'a [SiteId],
    /// Whether only references are sites. The code of all other accesses shows them itself, where
    /// the compiler instruments it; an unused reference has no code.
    pub only_borrows: bool,
}
