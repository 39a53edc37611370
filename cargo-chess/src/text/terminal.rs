//! Text for terminals: styles, widths, wrapping.

use std::fmt;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Good news and cargo's verbs.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Failures.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Warnings, and preemptions.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Notes.
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// Headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// Details.
pub(crate) const DIM: Style = Style::new().dimmed();

/// `text` in `style`.
pub(crate) fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A line in cargo's style: a bold verb, right-aligned, and its subject.
pub(crate) fn status(style: Style, verb: &str, rest: impl fmt::Display) -> String {
    format!("{style}{verb:>12}{style:#} {rest}\n")
}

/// The number of columns that `text` needs on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` filled with spaces, or cut with an ellipsis, to exactly `width` columns.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut fitted = cut(text, width);
    fitted.extend(std::iter::repeat_n(
        ' ',
        width.saturating_sub(columns(&fitted)),
    ));
    fitted
}

/// `text` in at most `width` columns. If it is longer, an ellipsis replaces its end.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut result = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        result.push(c);
    }
    if width > 0 {
        result.push('\u{2026}');
    }
    result
}

/// `text` in at most `width` columns. If it is longer, an ellipsis replaces its beginning.
pub(crate) fn cut_front(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    cut(&backwards, width).chars().rev().collect()
}

/// `text` in lines of at most `width` columns, broken at spaces. Each line begins with `indent`.
pub(crate) fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut result = String::new();
    for paragraph in text.lines() {
        let mut used = 0;
        result.push_str(indent);
        for word in paragraph.split(' ') {
            let needed = columns(word) + usize::from(used > 0);
            if used > 0 && columns(indent) + used + needed > width {
                result.push('\n');
                result.push_str(indent);
                // The further lines of a sentence are indented.
                result.push_str("  ");
                used = 2 + columns(word);
            } else {
                if used > 0 {
                    result.push(' ');
                }
                used += needed;
            }
            result.push_str(word);
        }
        while result.ends_with(' ') {
            result.pop();
        }
        result.push('\n');
    }
    result
}

/// `text` in lines of at most `width` columns. There is no line end after the last line.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    wrap(text, "", width)
        .replace("\n  ", "\n")
        .trim_end()
        .to_owned()
}

/// `text`, with `indent` at the start of each line. Control characters are removed, because they
/// would move the cursor or change colours.
pub(crate) fn indented(text: &str, indent: &str) -> String {
    let mut result = String::new();
    for line in anstream::adapter::strip_str(text).to_string().lines() {
        let line: String = line
            .trim_end()
            .replace('\t', "    ")
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        if !line.is_empty() {
            result.push_str(indent);
            result.push_str(&line);
        }
        result.push('\n');
    }
    result
}

/// Formats `12345` as `12,345`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut result = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            result.push(',');
        }
        result.push(digit);
    }
    result
}

/// Formats each number of at least four digits in `text` as `12,345`. A number that is a part of a
/// word does not change.
pub(crate) fn grouped(text: &str) -> String {
    text.split_inclusive([' ', '\n'])
        .map(|word| {
            let end = word
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(word.len());
            let (digits, rest) = word.split_at(end);
            let is_alone = rest
                .trim_end()
                .trim_end_matches([',', '.', ';', ':', ')'])
                .is_empty();
            match digits.parse() {
                Ok(number) if is_alone && digits.len() > 3 => thousands(number) + rest,
                _ => word.to_owned(),
            }
        })
        .collect()
}

/// A number of units of work, in a short form if this form is exact: `25M units`.
pub(crate) fn units(count: u64) -> String {
    let sizes = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let fits = |(size, _): &(u64, &str)| count > 0 && count.is_multiple_of(*size);
    sizes.into_iter().find(fits).map_or_else(
        || plural(count, "unit"),
        |(size, letter)| format!("{}{letter} units", thousands(count / size)),
    )
}

/// The number and the noun: `1 test`, `2 tests`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_fitted_by_columns_not_characters() {
        assert_eq!(fit("ab", 4), "ab  ");
        assert_eq!(fit("abcdef", 4), "abc\u{2026}");
        assert_eq!(fit("\u{6f22}\u{5b57}\u{6f22}", 4), "\u{6f22}\u{2026} ");
        assert_eq!(cut_front("src/long/lib.rs:10", 10), "\u{2026}lib.rs:10");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1234), "1,234");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(
            grouped("no end after 20000 steps, 1234, at src/lib.rs:2000 of 0x1000 in 999 s"),
            "no end after 20,000 steps, 1,234, at src/lib.rs:2000 of 0x1000 in 999 s"
        );
        assert_eq!(plural(1, "test"), "1 test");
        assert_eq!(plural(100_000, "schedule"), "100,000 schedules");
    }

    #[test]
    fn sentences_are_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", "  ", 9), "  one two\n    three\n");
    }

    #[test]
    fn printed_text_cannot_move_the_cursor() {
        assert_eq!(
            indented("a\x1b[31mb\x07\r\n\n\tc", "> "),
            "> ab\n\n>     c\n"
        );
    }
}
