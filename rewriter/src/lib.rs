//! Computes insertions into the source text of code under test. The input is text, and the output
//! is a list of edits.
//!
//! No code is printed again from its syntax tree. An edit inserts text at a byte offset, and never
//! a line break. The line numbers, the comments and all other text of the file therefore stay
//! unchanged.
//!
//! - **Borrows** ([`Borrows`]) are the places where unsafe code creates a reference to raw memory.
//!   The inserted code reports the reference to the engine. Each site has an identity that does not
//!   depend on the edits, so that a site whose edit does not compile can be left out.
//! - **Marks** ([`MARK`]) announce that control has returned to the package's own code. The engine
//!   treats all operations of a trusted package within one call as one step, and does not see the
//!   return of a call. With a mark between two statements, their calls are two steps.
//! - **Reservations** are calls of `try_reserve`, which may fail by the search's choice. Their
//!   edits are computed if marks are requested.
//! - **Included texts** are source files that `include_str!` inserts as text. Their paths become
//!   those of the original files.
//! - **Entries** ([`EntrySplice`]) are statements at the start of named functions. By such a
//!   statement, a function that draws random numbers requests the numbers from the engine, or a
//!   method of a type ([`Methods`]) reports its calls.
//!
//! Some uses of `std` need no edit, because the build replaces the crates `std`, `core` and
//! `alloc`. [`audit()`] lists these uses.

#![forbid(unsafe_code)]

mod asm;
mod audit;
mod block_ends;
mod borrows;
mod constant_files;
mod edit;
mod edition_2015;
mod entries;
mod extent;
mod included_texts;
mod lines;
mod marks;
mod may_call;
mod methods;
mod mutable_statics;
mod referenced_files;
mod reservations;
mod rewrite;
mod source;
mod subjects;
mod test_code;
mod visitor;

pub use asm::{Asm, inline_asm};
pub use audit::{Meaning, Reach, Treatment, audit};
pub use borrows::{Borrows, Kind, Left, Site, SiteId};
pub use edit::{Edit, MARK};
pub use entries::EntrySplice;
pub use lines::module_lines;
pub use methods::{Method, Methods, NoObject, Object, TypeItem};
pub use mutable_statics::MutableStatics;
pub use referenced_files::{Reference, references};
pub use rewrite::Rewrite;
pub use source::SyntaxError;
pub use subjects::Subjects;
pub use test_code::TestCode;

use std::ops::RangeInclusive;

use lines::Lines;
use source::Source;

/// The edits that are requested for a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Request<'a> {
    /// Whether to mark statements.
    pub marks: bool,
    /// The lines, from 1, in which statements are marked. An empty list means all lines.
    pub lines: &'a [RangeInclusive<usize>],
    /// The borrows to report, if any. Only borrows in `lines` are reported.
    pub borrows: Option<Borrows<'a>>,
    /// Statements to insert at the start of functions.
    pub entries: &'a [EntrySplice<'a>],
    /// The directory of the original file, if the file's text is written to another place. The
    /// paths of included texts are resolved there.
    pub directory: Option<&'a str>,
}

/// Computes the edits of `request` in the text of a source file.
pub fn rewrite(text: &str, request: &Request) -> Result<Rewrite, SyntaxError> {
    let source = Source::new(text);
    let file = match source.parse() {
        Err(_) if constant_files::is_constant_file(&source) => return Ok(Rewrite::default()),
        file => file?,
    };
    let lines = (!request.lines.is_empty()).then(|| Lines::new(text, request.lines));
    let mut rewrite = Rewrite::default();
    let mut openings = Vec::new();
    if let Some(borrows) = &request.borrows {
        let found = borrows::find(&source, &file, borrows, lines.as_ref());
        rewrite.sites = found.sites;
        rewrite.edits = found.closings;
        openings = found.openings;
    }
    if request.marks {
        let mut marks = marks::find(&source, &file);
        if let Some(lines) = &lines {
            marks.retain(|edit| lines.contain(edit.at));
        }
        rewrite.marks = marks.iter().map(Edit::marks).sum();
        let mut reservations = reservations::find(&source, &file, lines.as_ref());
        rewrite.edits.append(&mut reservations.closings);
        rewrite.edits.append(&mut marks);
        openings.splice(0..0, reservations.openings);
    }
    for (splice, places) in entries::find(&source, &file, request.entries) {
        if places.is_empty() && splice.function != EntrySplice::EVERY {
            rewrite.missing_entries.push(splice.function.to_owned());
        }
        rewrite.entries += places.len();
        rewrite
            .edits
            .extend(places.into_iter().map(|at| splice.edit(at)));
    }
    if let Some(directory) = request.directory {
        rewrite
            .edits
            .append(&mut included_texts::find(&source, directory));
    }
    rewrite.edits.append(&mut openings);
    // The sort is stable. So the order at one offset is: ends of borrows, ends of arguments,
    // marks, entries, starts of arguments, starts of borrows.
    rewrite.edits.sort_by_key(|edit| edit.at);
    Ok(rewrite)
}
