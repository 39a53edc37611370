//! The edits of a file, the text with the edits, and the original places of its columns.

use crate::borrows::Site;
use crate::edit::Edit;
use crate::source::start_of_text;

/// All edits of a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rewrite {
    /// The edits in ascending order of offset. Edits at the same offset are in the order in which
    /// their texts follow each other.
    pub edits: Vec<Edit>,
    /// The borrows, if they were requested, in the order of the text. An outer site comes before
    /// its inner sites.
    pub sites: Vec<Site>,
    /// The number of marks.
    pub marks: usize,
    /// The number of statements that are inserted at the start of functions.
    pub entries: usize,
    /// The names of requested functions that are not found, or that may be evaluated at compile
    /// time.
    pub missing_entries: Vec<String>,
}

impl Rewrite {
    /// Returns the text with all edits applied.
    ///
    /// # Panics
    ///
    /// If `source` is not the text for which the edits were computed.
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

    /// Returns the innermost site around the place at `line` and `column` of the rewritten text.
    /// `source` is the original text. Only sites that report their borrow are considered.
    ///
    /// Lines and columns count from 1, columns in characters, as in rustc.
    pub fn site_at(&self, source: &str, line: usize, column: usize) -> Option<&Site> {
        let place = offset_of(&self.apply(source), line, column)?;
        let mut ranges: Vec<Option<(usize, usize)>> = vec![None; self.sites.len()];
        let mut inserted = 0;
        for edit in &self.edits {
            let start = edit.at + inserted;
            inserted += edit.text.len();
            if let Some(site) = edit.site {
                let end = edit.at + inserted;
                let first = ranges[site].map_or(start, |(first, _)| first);
                ranges[site] = Some((first, end));
            }
        }
        let sites = self.sites.iter().zip(ranges);
        sites
            .filter_map(|(site, range)| range.map(|(start, end)| (site, start, end)))
            .filter(|(_, start, end)| (*start..=*end).contains(&place))
            .min_by_key(|(_, start, end)| end - start)
            .map(|(site, ..)| site)
    }

    /// Returns the line and column in the original text `source` of a place in the rewritten text.
    ///
    /// Lines and columns count from 1, columns in characters, as in rustc. If the place is in
    /// inserted text that reports a borrow, the result is the place of the borrow's site. If it is
    /// in other inserted text, the result is the place of the next original character.
    pub fn original_place(&self, source: &str, line: usize, column: usize) -> (usize, usize) {
        let Some(start) = start_of_line(source, line) else {
            return (line, column);
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
                let id = edit.site.map(|site| self.sites[site].id);
                return id.map_or((line, original), |id| (id.line, id.column));
            }
            inserted += length;
        }
        (line, column - inserted)
    }

    /// Returns the column of [`original_place`](Self::original_place).
    pub fn original_column(&self, source: &str, line: usize, column: usize) -> usize {
        self.original_place(source, line, column).1
    }
}

/// Returns the byte offset of a line and column in a text.
fn offset_of(text: &str, line: usize, column: usize) -> Option<usize> {
    let start = start_of_line(text, line)?;
    let mut characters = text[start..].char_indices();
    let within = characters.nth(column.checked_sub(1)?);
    Some(start + within.map_or(text.len() - start, |(at, _)| at))
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
