//! Source files and lines as messages show them.

use core::panic::Location;

use super::memory::{EngineVec, engine_vec};
use super::stored::stored;

/// A line as messages show it: without the place of the registry.
pub(crate) fn line_of(site: &Location<'_>) -> String {
    format!("{}:{}", short_path(site.file()), site.line())
}

/// The path of a source file without the place of the registry.
pub(crate) fn short_path(file: &str) -> &str {
    let short = file
        .split_once("/registry/src/")
        .and_then(|(_, rest)| rest.split_once('/'));
    short.map_or(file, |(_, rest)| rest)
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) file: EngineVec<u8>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

stored!(Place { file, line, column });

impl Place {
    pub(crate) fn of(site: &Location<'_>) -> Self {
        let mut file = engine_vec();
        file.extend_from_slice(site.file().as_bytes());
        Self {
            file,
            line: site.line(),
            column: site.column(),
        }
    }
}

/// As [`line_of`], of a place.
pub(crate) fn line_of_place(place: &Place) -> String {
    let file = String::from_utf8_lossy(&place.file);
    format!("{}:{}", short_path(&file), place.line)
}
