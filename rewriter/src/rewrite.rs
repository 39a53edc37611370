//! The edits of a file, and what they do to its text and columns.

use std::borrow::Cow;

use crate::marks::MARK;
use crate::source::start_of_text;

/// Text to insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The byte offset in the original text.
    pub at: usize,
    /// What is inserted there; it has no line break.
    pub text: Cow<'static, str>,
}

impl Edit {
    pub(crate) fn new(at: usize, text: &'static str) -> Self {
        Self {
            at,
            text: Cow::Borrowed(text),
        }
    }

    pub(crate) fn marks(&self) -> usize {
        self.text.matches(MARK).count()
    }
}

/// What to insert into a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rewrite {
    /// The edits by rising offset; those of one offset in the order of their texts.
    pub edits: Vec<Edit>,
    /// How many marks there are.
    pub marks: usize,
    /// How many functions got a statement.
    pub entries: usize,
    /// The functions asked for that the file does not have, or that are `const`.
    pub missing_entries: Vec<String>,
}

impl Rewrite {
    /// The text with the edits made.
    ///
    /// # Panics
    ///
    /// If `source` is not the text in which the edits were found.
    pub fn apply(&self, source: &str) -> String {
        let inserted: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut text = String::with_capacity(source.len() + inserted);
        let mut copied = 0;
        for edit in &self.edits {
            text.push_str(&source[copied..edit.at]);
            text.push_str(&edit.text);
            copied = edit.at;
        }
        text.push_str(&source[copied..]);
        text
    }

    /// The column of the original text for one of the rewritten text.
    ///
    /// Lines and columns count from 1, columns in characters, as rustc counts
    /// them. A column within inserted text is that of the character behind it.
    pub fn original_column(&self, source: &str, line: usize, column: usize) -> usize {
        let Some(start) = start_of_line(source, line) else {
            return column;
        };
        let end = source[start..]
            .find('\n')
            .map_or(source.len(), |length| start + length);
        let mut inserted = 0;
        let first = self.edits.partition_point(|edit| edit.at < start);
        for edit in self.edits[first..].iter().take_while(|edit| edit.at <= end) {
            let original = source[start..edit.at].chars().count() + 1;
            if column < original + inserted {
                break;
            }
            let length = edit.text.chars().count();
            if column < original + inserted + length {
                return original;
            }
            inserted += length;
        }
        column - inserted
    }
}

fn start_of_line(source: &str, line: usize) -> Option<usize> {
    match line.checked_sub(2) {
        None => Some(start_of_text(source)),
        Some(breaks) => source
            .match_indices('\n')
            .nth(breaks)
            .map(|(index, _)| index + 1),
    }
}
