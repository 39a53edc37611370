//! The one-word form of a schedule: its text of format 1, compressed with deflate, in base64url,
//! with a checksum.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::format_1::{self, VERSION};
use super::{Schedule, ScheduleError};
use crate::digest;

/// The number of hexadecimal digits of the checksum at the end of the word.
const CHECK_LEN: usize = 6;

/// The highest number of bytes of a text. No schedule is larger. The limit protects the memory
/// from a malicious word.
const LARGEST: u64 = 64 << 20;

impl Schedule {
    /// Reads the one-word form.
    pub(crate) fn parse_inline(word: &str) -> Result<Self, ScheduleError> {
        parse(word)
    }

    /// The one-word form, to paste into an issue.
    pub(crate) fn to_inline(&self) -> String {
        word(&format_1::body(self))
    }

    /// Whether `argument` is a one-word form, and neither a file nor an id.
    pub(crate) fn is_inline(argument: &str) -> bool {
        let rest = argument.trim_start().strip_prefix("chess");
        rest.and_then(|rest| rest.split_once(':'))
            .is_some_and(|(version, _)| {
                !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit())
            })
    }
}

/// The one-word form of a schedule with the text `text`.
pub(crate) fn word(text: &str) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let deflated = encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .expect("memory takes every byte");
    let check = digest::short(&deflated, CHECK_LEN);
    format!(
        "chess{VERSION}:{}.{check}",
        URL_SAFE_NO_PAD.encode(deflated)
    )
}

/// Reads a schedule from its one-word form.
fn parse(word: &str) -> Result<Schedule, ScheduleError> {
    let damaged = |problem: String| ScheduleError::Inline { problem };
    let (version, rest) = word
        .trim()
        .strip_prefix("chess")
        .and_then(|rest| rest.split_once(':'))
        .ok_or_else(|| damaged(format!("it does not begin with `chess{VERSION}:`")))?;
    if version != VERSION.to_string() {
        return Err(ScheduleError::Version {
            expected: VERSION,
            found: version.to_owned(),
        });
    }
    let (data, check) = rest
        .rsplit_once('.')
        .filter(|(_, check)| check.len() == CHECK_LEN)
        .ok_or_else(|| damaged("its end is missing".to_owned()))?;
    let deflated = URL_SAFE_NO_PAD
        .decode(data)
        .ok()
        .filter(|deflated| digest::short(deflated, CHECK_LEN) == check)
        .ok_or_else(|| damaged("some of its characters are missing or changed".to_owned()))?;
    let mut body = String::new();
    DeflateDecoder::new(deflated.as_slice())
        .take(LARGEST)
        .read_to_string(&mut body)
        .map_err(|error| damaged(error.to_string()))?;
    format_1::parse(&body)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_word_holds_the_same_as_the_file() {
        let word = sample().to_inline();
        assert!(
            word.chars()
                .all(|c| c.is_ascii_alphanumeric() || ":._-".contains(c))
        );
        assert_eq!(parse(&word), Ok(sample()));
        assert_eq!(parse(&format!("  {word}\n")), Ok(sample()));
        assert!(Schedule::is_inline(&word));
    }

    #[test]
    fn a_long_schedule_stays_pasteable() {
        let mut schedule = sample();
        schedule.decisions = "0*12 1*3 ?1 0 ".repeat(500).trim_end().to_owned();
        assert!(
            schedule.to_inline().len() < 700,
            "{}",
            schedule.to_inline().len()
        );
    }

    #[test]
    fn a_damaged_word_is_refused() {
        let word = sample().to_inline();
        let errors: Vec<String> = [
            word[..word.len() / 2].to_owned(),
            word.replacen(&word[20..22], "zz", 1),
            word.replacen("chess1", "chess9", 1),
            "chess1:".to_owned(),
        ]
        .iter()
        .map(|word| parse(word).expect_err("a damaged word").to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n\n"));
    }
}
