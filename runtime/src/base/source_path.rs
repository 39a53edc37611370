//! Source files and lines, as in messages.

use core::panic::Location;

use super::codec::codec;
use super::memory::{EngineVec, engine_vec};

pub(crate) use chess_vocabulary::short_path;

/// A source line in messages. For a file in cargo's registry, the path begins with the package.
pub(crate) fn line_of(site: &Location<'_>) -> String {
    chess_vocabulary::line_of(site.file(), site.line())
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) file: EngineVec<u8>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

codec!(Place { file, line, column });

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

    /// Whether `site` is on the line of this place.
    pub(crate) fn is_line_of(&self, site: &Location<'_>) -> bool {
        *self.file == *site.file().as_bytes() && self.line == site.line()
    }
}

/// As [`line_of`], for a place.
pub(crate) fn line_of_place(place: &Place) -> String {
    chess_vocabulary::line_of(&String::from_utf8_lossy(&place.file), place.line)
}
