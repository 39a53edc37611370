//! Finds what to insert into the source text of code under test: text in, edits out.
//!
//! Nothing is printed anew. An edit inserts text at a byte offset, never a line
//! break, so that lines, comments and what is not edited stay as they are.
//!
//! - **Accesses** ([`Accesses`]) are where unsafe code touches memory: what is
//!   inserted tells the engine of the place before it is touched. Each site has an
//!   identity that does not depend on the edits, so that one which does not
//!   compile can be left out.
//! - **Marks** ([`MARK`]) say that control is in the package's own code again.
//!   The engine takes what a trusted package does within one call for one step
//!   and does not see a call return; a mark between two statements makes two
//!   calls two steps.
//! - **Entries** ([`EntrySplice`]) are statements at the start of functions that
//!   are named, by which a function that draws random numbers can ask instead.

//!
//! What needs no edit, because the crates that it comes from are swapped, is listed
//! by [`audit`].

#![forbid(unsafe_code)]

mod access;
mod asm;
mod audit;
mod body;
mod calls;
mod data;
mod declarations;
mod edition_2015;
mod entries;
mod extent;
mod lines;
mod marks;
mod references;
mod rewrite;
mod source;
mod subjects;

pub use access::{Accesses, Kind, Left, Site, SiteId};
pub use asm::{Asm, inline_asm};
pub use audit::{Meaning, Reach, Treatment, audit};
pub use declarations::Declarations;
pub use entries::EntrySplice;
pub use lines::module_lines;
pub use marks::MARK;
pub use references::{Reference, references};
pub use rewrite::{Edit, Rewrite};
pub use source::SyntaxError;
pub use subjects::Subjects;

use std::ops::RangeInclusive;

use lines::Lines;
use source::Source;

/// What to insert.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Request<'a> {
    /// Whether to mark statements.
    pub marks: bool,
    /// The lines, from 1, in which statements are marked; none for all.
    pub lines: &'a [RangeInclusive<usize>],
    /// The accesses to tell of, if any are; those in the same lines as the marks.
    pub accesses: Option<Accesses<'a>>,
    /// Statements for the start of functions.
    pub entries: &'a [EntrySplice<'a>],
}

/// Finds the edits that `request` asks for in the text of a source file.
pub fn rewrite(text: &str, request: &Request) -> Result<Rewrite, SyntaxError> {
    let source = Source::new(text);
    let file = match source.parse() {
        Err(_) if data::is_data(&source) => return Ok(Rewrite::default()),
        file => file?,
    };
    let lines = (!request.lines.is_empty()).then(|| Lines::new(text, request.lines));
    let mut rewrite = Rewrite::default();
    let mut openings = Vec::new();
    if let Some(accesses) = &request.accesses {
        let found = access::find(&source, &file, accesses, lines.as_ref());
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
        rewrite.edits.append(&mut marks);
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
    rewrite.edits.append(&mut openings);
    // Stable: at one offset accesses end first, then marks stand before entries,
    // and accesses begin last.
    rewrite.edits.sort_by_key(|edit| edit.at);
    Ok(rewrite)
}
