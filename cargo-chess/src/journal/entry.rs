//! One file of the journal: a line with the digest of the rest, a line that says what it holds for, and that.

use std::io;

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::events::TestId;

/// The beginning of the first line, with the version of the format.
const MAGIC: &str = "cargo-chess journal 1 ";

/// Hexadecimal digits of the digest.
const DIGEST_LEN: usize = 64;

/// What the result of a test depends on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The version of cargo-chess.
    pub(crate) tool: String,
    /// The test.
    pub(crate) test: TestId,
    /// Its options: the lines of the request to its binary.
    pub(crate) options: String,
    /// The digest of its binary.
    pub(crate) binary: String,
}

/// The bytes of a file that holds `body` for `key`.
pub(super) fn encode(key: &Key, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut rest = serde_json::to_vec(key)?;
    rest.push(b'\n');
    rest.extend_from_slice(body);
    let digest = digest::short(&rest, DIGEST_LEN);
    let mut bytes = format!("{MAGIC}{digest}\n").into_bytes();
    bytes.append(&mut rest);
    Ok(bytes)
}

/// The key and the body in a file's bytes, if they are as they were written.
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
