//! A source file as tokens, and the conversion of the tokens' spans to byte offsets of the file's
//! text.

use std::fmt;

use proc_macro2::{LexError, LineColumn, Span, TokenStream};

use crate::edition_2015;

/// The byte order mark that a file may begin with.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The reason why a file cannot be rewritten: it is not Rust, or it uses newer syntax than the
/// parser supports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// A message with the expected or the unexpected syntax.
    pub message: String,
}

impl SyntaxError {
    fn new(span: Span, message: String) -> Self {
        let start = span.start();
        Self {
            line: start.line,
            column: start.column + 1,
            message,
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            message,
        } = self;
        write!(f, "{line}:{column}: {message}")
    }
}

impl std::error::Error for SyntaxError {}

/// The text of a file.
pub(crate) struct Source<'s> {
    text: &'s str,
    /// The offset at which the tokens begin. The offsets of spans count from there.
    base: usize,
}

impl<'s> Source<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        let start = start_of_text(text);
        let base = start + length_of_shebang(&text[start..]);
        Self { text, base }
    }

    /// Parses the file as code of the newest edition or, if that fails, as code of edition 2015.
    pub(crate) fn parse(&self) -> Result<syn::File, SyntaxError> {
        syn::parse2(self.tokens()?).or_else(|error: syn::Error| {
            syn::parse2(edition_2015::modernize(self.tokens()?))
                .map_err(|_| SyntaxError::new(error.span(), error.to_string()))
        })
    }

    pub(crate) fn tokens(&self) -> Result<TokenStream, SyntaxError> {
        self.from(self.base)
            .parse()
            .map_err(|error: LexError| SyntaxError::new(error.span(), error.to_string()))
    }

    pub(crate) fn start_of(&self, span: Span) -> usize {
        self.base + span.byte_range().start
    }

    pub(crate) fn end_of(&self, span: Span) -> usize {
        self.base + span.byte_range().end
    }

    /// Returns the line in the text, from 1, of a place in the tokens.
    pub(crate) fn line_of(&self, place: LineColumn) -> usize {
        self.text[..self.base].matches('\n').count() + place.line
    }

    /// Returns the text between two offsets.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'s str {
        &self.text[start..end]
    }

    /// Returns the text from an offset to the end.
    pub(crate) fn from(&self, offset: usize) -> &'s str {
        &self.text[offset..]
    }

    /// Whether the first token after an offset begins an attribute. Comments are skipped.
    pub(crate) fn has_attribute_behind(&self, offset: usize) -> bool {
        let mut rest = self.from(offset).trim_start();
        while rest.starts_with("//") || rest.starts_with("/*") {
            rest = &rest[length_of_comment(rest)..];
            rest = rest.trim_start();
        }
        rest.starts_with('#')
    }
}

fn length_of_comment(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    let mut depth = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        let step = match text.get(at..at + 2) {
            Some("/*") => 1,
            Some("*/") => -1,
            _ => 0,
        };
        at += if step == 0 { 1 } else { 2 };
        depth += step;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the offset where the text of a file begins: after its byte order mark.
pub(crate) fn start_of_text(text: &str) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

/// Returns the length of an initial shebang line, `#!/usr/bin/env ...`, which is not Rust.
///
/// `#!` also begins inner attributes such as `#![no_std]`. Blanks may precede the `[` of an
/// attribute.
fn length_of_shebang(text: &str) -> usize {
    match text.strip_prefix("#!") {
        Some(rest) if !rest.trim_start().starts_with('[') => text.find('\n').unwrap_or(text.len()),
        _ => 0,
    }
}
