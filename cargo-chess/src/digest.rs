//! Digests of files and texts, in hexadecimal digits.

use std::fs;
use std::io::{self, Read};

use camino::Utf8Path;
use sha2::{Digest, Sha256};

/// The number of hexadecimal digits of a source digest.
pub(crate) const SOURCE_DIGEST_LEN: usize = 32;

/// The digest of contents that are added in pieces.
#[derive(Default)]
pub(crate) struct Streamed(Sha256);

impl Streamed {
    /// Adds a piece.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Adds the length of a field, and then the field. Because of the lengths, two different
    /// sequences of fields never add the same bytes.
    pub(crate) fn field(&mut self, field: &[u8]) {
        self.update(&(field.len() as u64).to_le_bytes());
        self.update(field);
    }

    /// The first `digits` hexadecimal digits of the digest of all pieces.
    pub(crate) fn short(self, digits: usize) -> String {
        hex(&self.0.finalize(), digits)
    }
}

/// The first `digits` hexadecimal digits of the digest of `contents`.
pub(crate) fn short(contents: &[u8], digits: usize) -> String {
    hex(&Sha256::digest(contents), digits)
}

/// The digest of a file's contents.
pub(crate) fn file(path: &Utf8Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut digest = Streamed::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest.short(SOURCE_DIGEST_LEN)),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// The first `digits` hexadecimal digits of the digest of `fields`.
pub(crate) fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>, digits: usize) -> String {
    let mut digest = Streamed::default();
    for text in fields {
        digest.field(text.as_bytes());
    }
    digest.short(digits)
}

fn hex(bytes: &[u8], digits: usize) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .take(digits)
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}
