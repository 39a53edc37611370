//! Text for people: source paths, and the styles and widths of terminals.

mod paths;
mod terminal;

pub(crate) use paths::{source_path, with_source_paths};
pub(crate) use terminal::*;
