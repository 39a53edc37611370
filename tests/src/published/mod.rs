//! The tests that published crates ship: their sources, and what `cargo test` and the tool say of them.

mod explored;
mod native;
mod sources;

pub use explored::Explored;
pub use native::{Native, Test};
pub use sources::{Corpus, Package};
