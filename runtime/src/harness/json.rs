//! A minimal JSON writer, for one object per line: the runtime has no dependencies.

use core::fmt::{self, Write};

use crate::base::source_path::Place;

/// The reason why no write fails.
const WRITTEN: &str = "writing to memory succeeds";

/// A JSON object that is being written to memory.
pub(super) struct Object<T = String> {
    text: T,
    is_empty: bool,
}

impl Object {
    pub(super) fn new() -> Self {
        Self::within(String::new())
    }
}

impl<T: Write> Object<T> {
    /// Begins an object at the end of `text`.
    pub(super) fn within(text: T) -> Self {
        let mut object = Self {
            text,
            is_empty: true,
        };
        object.push("{");
        object
    }

    fn push(&mut self, text: &str) {
        self.text.write_str(text).expect(WRITTEN);
    }

    fn key(&mut self, key: &str) {
        if !core::mem::replace(&mut self.is_empty, false) {
            self.push(",");
        }
        quote(&mut self.text, key);
        self.push(":");
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
        write!(self.text, "{value}").expect(WRITTEN);
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
        self.push(value);
        self
    }

    /// Adds an array of JSON values.
    pub(super) fn array(mut self, key: &str, values: impl Iterator<Item = String>) -> Self {
        self.key(key);
        self.push("[");
        for (place, value) in values.enumerate() {
            if place > 0 {
                self.push(",");
            }
            self.push(&value);
        }
        self.push("]");
        self
    }

    /// Ends the object. Returns the text, which ends with the object.
    pub(super) fn finish(mut self) -> T {
        self.push("}");
        self.text
    }
}

/// A place in the source, as a JSON object.
pub(super) fn location(place: &Place) -> String {
    Object::new()
        .string("file", &String::from_utf8_lossy(&place.file))
        .number("line", place.line.into())
        .number("column", place.column.into())
        .finish()
}

/// A string as JSON.
pub(super) fn quoted(value: &str) -> String {
    let mut text = String::new();
    quote(&mut text, value);
    text
}

fn quote(out: &mut impl Write, value: &str) {
    out.write_char('"').expect(WRITTEN);
    escape(out, value).expect(WRITTEN);
    out.write_char('"').expect(WRITTEN);
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
