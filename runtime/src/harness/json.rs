//! A minimal JSON writer, for one object per line: the runtime has no dependencies.

use core::fmt::{self, Write};

/// An object that is being written.
pub(super) struct Object {
    text: String,
}

impl Object {
    pub(super) fn new() -> Self {
        Self {
            text: String::from("{"),
        }
    }

    fn key(&mut self, key: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        quote(&mut self.text, key);
        self.text.push(':');
    }

    /// Adds a string.
    pub(super) fn string(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        quote(&mut self.text, value);
        self
    }

    /// Adds a string or null.
    pub(super) fn optional_string(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a number.
    pub(super) fn number(mut self, key: &str, value: u64) -> Self {
        self.key(key);
        write!(self.text, "{value}").expect("writing to a string succeeds");
        self
    }

    /// Adds a number or null.
    pub(super) fn optional_number(self, key: &str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.number(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a boolean.
    pub(super) fn boolean(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Adds a value that is already JSON.
    pub(super) fn raw(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        self.text.push_str(value);
        self
    }

    /// Adds an array of JSON values.
    pub(super) fn array(mut self, key: &str, values: impl Iterator<Item = String>) -> Self {
        self.key(key);
        self.text.push('[');
        for (place, value) in values.enumerate() {
            if place > 0 {
                self.text.push(',');
            }
            self.text.push_str(&value);
        }
        self.text.push(']');
        self
    }

    /// The text of the object.
    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// A string as JSON.
pub(super) fn quoted(value: &str) -> String {
    let mut text = String::new();
    quote(&mut text, value);
    text
}

fn quote(out: &mut String, value: &str) {
    out.push('"');
    escape(out, value).expect("writing to a string succeeds");
    out.push('"');
}

/// Writes the characters between the quotes of a string.
pub(super) fn escape(out: &mut impl Write, value: &str) -> fmt::Result {
    for c in value.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            c if u32::from(c) < 0x20 => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_separated_and_strings_escaped() {
        let text = Object::new()
            .string("a", "say \"hi\"\n\t\\")
            .optional_number("b", None)
            .boolean("c", true)
            .array("d", [quoted("x"), "1".to_owned()].into_iter())
            .finish();
        assert_eq!(
            text,
            r#"{"a":"say \"hi\"\n\u0009\\","b":null,"c":true,"d":["x",1]}"#
        );
    }
}
