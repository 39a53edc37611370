//! References to raw memory that unsafe code creates, and the text that is inserted to report them.
//!
//! Loads and stores need no report in the source text: the compiler instruments their code. The
//! creation of a reference has no code of its own. But by Rust's rules it is a use of the memory:
//! to create a shared reference is like a read, and to create a unique reference is like a write.
//!
//! References are searched in `unsafe` blocks and functions, because raw pointers are dereferenced
//! only there. A reference is a site only if its kind and its extent are certain. So two kinds of
//! references are no sites: the implicit reference to the receiver of a method, and a binding by
//! reference within a larger pattern. The arguments of macros are searched if they are known to be
//! Rust. Code that is evaluated at compile time is not changed. The inserted text calls functions
//! of `__chess`, a module in every prelude of the facades.

mod find;
mod forms;
mod macros;
mod methods;
mod place;
mod site;
mod walk;

pub use site::{Borrows, Kind, Left, Site, SiteId};

use syn::File;

use crate::edit::Edit;
use crate::lines::Lines;
use crate::source::Source;
use find::Finder;
use forms::Forms;

/// The sites and edits of a file.
pub(crate) struct Found {
    pub(crate) sites: Vec<Site>,
    /// The edits at the start of sites. The edit of a site comes before the edits of its inner
    /// sites.
    pub(crate) openings: Vec<Edit>,
    /// The edits at the end of sites. The edit of a site comes after the edits of its inner sites.
    pub(crate) closings: Vec<Edit>,
}

/// Returns the sites and edits of a file, or only those in `lines`.
pub(crate) fn find(
    source: &Source,
    file: &File,
    borrows: &Borrows,
    lines: Option<&Lines>,
) -> Found {
    let mut finder = Finder {
        source,
        statics: borrows.statics,
        forms: Forms {
            source,
            statics: borrows.statics,
        },
        without: borrows.without,
        lines,
        sites: Vec::new(),
        openings: Vec::new(),
        closings: Vec::new(),
        borrow: None,
        extends: false,
        is_unsafe: false,
        left: None,
    };
    finder.file(file);
    Found {
        sites: finder.sites,
        openings: finder.openings,
        closings: finder.closings,
    }
}
