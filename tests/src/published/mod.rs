//! The test suites of published crates: their sources, and the results of `cargo test` and of the
//! tool.

mod explored;
mod native;
mod sources;

pub use explored::Explored;
pub use native::{Native, Test};
pub use sources::{Corpus, Package};
