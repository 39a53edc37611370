//! Source files and lines as messages show them.

use core::panic::Location;

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
