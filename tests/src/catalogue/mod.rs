//! The catalogue: the defects that the tool found in published crates, the tests of these crates
//! that passed, and the false alarms that were corrected. It is a page of the book. This module
//! makes the page from the fixtures.

mod bugs;
mod clients;
mod page;

use std::path::PathBuf;

pub use bugs::{Bug, Bugs, Found};
pub use clients::{Explained, Explored, Failure, FalseAlarms, Judgement, Passed, tests_by_crate};
pub use page::page;

/// Returns the path of the page.
pub fn page_path() -> PathBuf {
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../cargo-chess/book/src/catalogue.md"
    )
    .into()
}
