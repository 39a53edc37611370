//! Places in a text where memory is accessed, and why some are left as they are.

use std::fmt;

use crate::declarations::Declarations;

/// How memory is accessed at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// All of a place is read: `x = *p`.
    Read,
    /// A place is looked at, in whole or in part: `match *p`, `*p == *q`, `macro!(*p)`.
    Inspect,
    /// `*p = x`.
    Write,
    /// `*p += x`.
    Update,
    /// `&*p`, `ref x` of it.
    Borrow,
    /// `&mut *p`, `ref mut x` of it.
    BorrowMut,
    /// A method of a place is called, or the place itself: `(*p).f()`, `(*p)()`.
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

/// Why nothing is inserted at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Left {
    /// The code is computed while compiling, too.
    Constant,
    /// It is in the definition of a macro, or in an argument that is no expression.
    Macro,
    /// A message has the text of the expression.
    Message,
    /// A field of a packed type may lie where a pointer to it may not be read.
    Packed,
    /// Temporary values may have to live as long as the borrow.
    Temporary,
    /// What computes the place, or how much of it is accessed, cannot be evaluated twice.
    Computed,
    /// The caller asked for that: rustc refused it.
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

/// What tells a site from all others of its file, whatever is inserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId {
    /// The line of the original text, from 1.
    pub line: usize,
    /// The column of the original text, from 1, in characters: of the `*`, of the
    /// static's name or of the method's.
    pub column: usize,
    /// How memory is accessed.
    pub kind: Kind,
}

/// Where unsafe code accesses memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Which one it is.
    pub id: SiteId,
    /// The byte offset in the original text where the place, or the call, begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How many pointers are read on the way to the place: two in `(*(*(*a).b).c).d`.
    pub pointers: usize,
    /// Why nothing is inserted; `None` if it tells of its access.
    pub left: Option<Left>,
}

/// Which sites are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accesses<'a> {
    /// What the package declares.
    pub declarations: &'a Declarations,
    /// The sites to leave as they are.
    pub without: &'a [SiteId],
}
