//! The format of a journal file: a digest of the rest of the file, the key, and the body.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

use crate::digest::{self, Streamed};
use crate::events::TestId;

/// The start of the first line, with the version of the format.
const MAGIC: &str = "cargo-chess journal 1 ";

/// The number of hexadecimal digits of the digest.
const DIGEST_LEN: usize = 64;

/// The inputs of a test's result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The version of cargo-chess.
    pub(crate) tool: String,
    /// The test.
    pub(crate) test: TestId,
    /// The options of the test: the lines of the request to its binary.
    pub(crate) options: String,
    /// The digest of the test's binary.
    pub(crate) binary: String,
}

/// The number of bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// Writes `key` and `body` into a file.
pub(super) fn write(key: &Key, body: &mut dyn Read, file: &mut File) -> io::Result<()> {
    // The digest precedes its input in the file. It is written last, because the input may be too
    // large for the memory.
    file.seek(SeekFrom::Start((MAGIC.len() + DIGEST_LEN + 1) as u64))?;
    let mut rest = BufWriter::with_capacity(CHUNK, Digested::new(file));
    serde_json::to_writer(&mut rest, key)?;
    rest.write_all(b"\n")?;
    io::copy(body, &mut rest)?;
    let Digested { digest, file } = rest.into_inner()?;
    file.rewind()?;
    let digest = digest.short(DIGEST_LEN);
    file.write_all(format!("{MAGIC}{digest}\n").as_bytes())
}

/// A file that is being written, and the digest of the written bytes.
struct Digested<'a> {
    digest: Streamed,
    file: &'a mut File,
}

impl<'a> Digested<'a> {
    fn new(file: &'a mut File) -> Self {
        let digest = Streamed::default();
        Self { digest, file }
    }
}

impl Write for Digested<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The key and the body in a file's bytes, if they match the digest.
pub(super) fn decode(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let bytes = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (digest, rest) = bytes.split_at_checked(DIGEST_LEN)?;
    let rest = rest.strip_prefix(b"\n")?;
    if digest != digest::short(rest, DIGEST_LEN).as_bytes() {
        return None;
    }
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let key = serde_json::from_slice(&rest[..end]).ok()?;
    Some((key, &rest[end + 1..]))
}
