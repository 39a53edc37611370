//! Escapes of values, so that any text fits on one line.

use std::fmt::Write as _;

pub(super) fn escape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            // Values are trimmed when they are read, so a space at the start or end is escaped.
            ' ' if result.is_empty() => result.push_str("\\s"),
            c if c.is_control() => write!(result, "{}", c.escape_unicode()).expect("memory"),
            c => result.push(c),
        }
    }
    if result.ends_with(' ') {
        result.pop();
        result.push_str("\\s");
    }
    result
}

pub(super) fn unescape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let escaped = &rest[at + 1..];
        let mut chars = escaped.chars();
        match chars.next() {
            Some('n') => result.push('\n'),
            Some('r') => result.push('\r'),
            Some('s') => result.push(' '),
            Some('u') => {
                if let Some((c, after)) = unicode(escaped) {
                    result.push(c);
                    rest = after;
                    continue;
                }
                result.push_str("\\u");
            }
            Some(c) => result.push(c),
            None => result.push('\\'),
        }
        rest = chars.as_str();
    }
    result + rest
}

/// Reads an escape such as `u{1b}` at the start of `text`. Returns the character, and the text
/// after the escape.
fn unicode(text: &str) -> Option<(char, &str)> {
    let (digits, after) = text.strip_prefix("u{")?.split_once('}')?;
    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    Some((c, after))
}
