//! Plain memory accesses of unsafe code, and the text that is inserted to report them.
//!
//! Accesses are searched in `unsafe` blocks and functions, because raw pointers are dereferenced
//! only there. The arguments of macros are included where they are known to be Rust. Code that is
//! evaluated at compile time is not changed. The inserted text calls functions of `__chess`, a
//! module in every prelude of the facades.

mod find;
mod forms;
mod macros;
mod methods;
mod place;
mod site;
mod walk;

pub use site::{Accesses, Kind, Left, Site, SiteId};

use syn::File;

use crate::edit::Edit;
use crate::lines::Lines;
use crate::source::Source;
use find::{Finder, VALUE};
use forms::Forms;

/// The sites and edits of a file.
pub(crate) struct Found {
    pub(crate) sites: Vec<Site>,
    /// The edits at the start of sites, with outer sites first.
    pub(crate) openings: Vec<Edit>,
    /// The edits at the end of sites, with inner sites first.
    pub(crate) closings: Vec<Edit>,
}

/// Returns the sites and edits of a file.
pub(crate) fn find(
    source: &Source,
    file: &File,
    accesses: &Accesses,
    lines: Option<&Lines>,
) -> Found {
    let mut finder = Finder {
        source,
        declarations: accesses.declarations,
        forms: Forms {
            source,
            declarations: accesses.declarations,
            only_borrows: accesses.only_borrows,
        },
        without: accesses.without,
        only_borrows: accesses.only_borrows,
        lines,
        sites: Vec::new(),
        openings: Vec::new(),
        closings: Vec::new(),
        context: VALUE,
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
