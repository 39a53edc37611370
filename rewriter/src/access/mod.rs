//! Plain memory accesses of unsafe code: where they are, and what is inserted to tell of them.
//!
//! Accesses are looked for where code is `unsafe`, for only there raw pointers
//! are followed: in its blocks and functions, also in what is given to macros as
//! far as that is known to be Rust. Nothing that is computed while compiling is
//! touched. What is spliced calls functions of `__chess`, a module that every
//! prelude of the facades has.

mod find;
mod forms;
mod macros;
mod methods;
mod place;
mod site;
mod walk;

pub use site::{Accesses, Kind, Left, Site, SiteId};

use syn::File;

use crate::lines::Lines;
use crate::rewrite::Edit;
use crate::source::Source;
use find::{Finder, VALUE};

/// What was found in a file.
pub(crate) struct Found {
    pub(crate) sites: Vec<Site>,
    /// What begins at its offset: outer sites first.
    pub(crate) openings: Vec<Edit>,
    /// What ends at its offset: inner sites first.
    pub(crate) closings: Vec<Edit>,
}

/// Finds the sites of a file.
pub(crate) fn find(
    source: &Source,
    file: &File,
    accesses: &Accesses,
    lines: Option<&Lines>,
) -> Found {
    let mut finder = Finder {
        source,
        declarations: accesses.declarations,
        without: accesses.without,
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
