//! Ranges of lines, and the lines of an inline module.

use std::ops::{Range, RangeInclusive};

use syn::Item;
use syn::spanned::Spanned;

use crate::source::{Source, SyntaxError};

/// Returns the lines, from 1, of the inline module `path` of a file, or `None` if the file has no
/// such module.
pub fn module_lines(
    text: &str,
    path: &[&str],
) -> Result<Option<RangeInclusive<usize>>, SyntaxError> {
    let source = Source::new(text);
    let mut items = source.parse()?.items;
    let mut found = None;
    for name in path {
        let module = items.into_iter().find_map(|item| match item {
            Item::Mod(module) if module.ident == name && module.content.is_some() => Some(module),
            _ => None,
        });
        let Some(module) = module else {
            return Ok(None);
        };
        let span = module.span();
        found = Some(source.line_of(span.start())..=source.line_of(span.end()));
        items = module.content.map(|(_, items)| items).unwrap_or_default();
    }
    Ok(found)
}

/// Ranges of lines of a text, as byte ranges.
pub(crate) struct Lines(Vec<Range<usize>>);

impl Lines {
    pub(crate) fn new(text: &str, lines: &[RangeInclusive<usize>]) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        let start = |line: usize| starts.get(line - 1).copied().unwrap_or(text.len());
        let ranges = lines
            .iter()
            .map(|lines| start(*lines.start())..start(*lines.end() + 1));
        Self(ranges.collect())
    }

    /// Whether the byte at an offset lies in these lines.
    pub(crate) fn contain(&self, at: usize) -> bool {
        self.0.iter().any(|range| range.contains(&at))
    }
}
