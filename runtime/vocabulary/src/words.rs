//! The words that are shown to people, which a test scrambles to show that no program reads them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;

static ARE_SCRAMBLED: AtomicBool = AtomicBool::new(false);

/// From now on this process shows scrambled words: for the test that no report, explanation
/// or page depends on them.
pub fn scramble() {
    ARE_SCRAMBLED.store(true, Ordering::Relaxed);
}

/// Whether words are scrambled.
pub fn are_scrambled() -> bool {
    ARE_SCRAMBLED.load(Ordering::Relaxed)
}

/// A sentence of this side, which the other side only shows.
pub fn sentence(text: &str) -> Cow<'_, str> {
    if are_scrambled() {
        scrambled_text(text).into()
    } else {
        Cow::Borrowed(text)
    }
}

/// `text` as it is shown where words are scrambled.
pub fn scrambled_text(text: &str) -> String {
    text.chars().map(scrambled_char).collect()
}

/// Letters stand for the letter 13 places further on; no separator stays.
const fn scrambled_char(c: char) -> char {
    if c.is_ascii() {
        scrambled_byte(c as u8) as char
    } else {
        c
    }
}

const fn scrambled_byte(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => (byte - b'a' + 13) % 26 + b'a',
        b'A'..=b'Z' => (byte - b'A' + 13) % 26 + b'A',
        b' ' => b'~',
        b':' => b'|',
        b'_' => b'^',
        byte => byte,
    }
}

/// `bytes` scrambled, as long as they are.
pub(crate) const fn scrambled<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    let mut all = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        all[at] = scrambled_byte(bytes[at]);
        at += 1;
    }
    all
}

/// A literal, or its scrambled form if words are scrambled.
macro_rules! shown {
    ($words:expr) => {{
        const SCRAMBLED: &str = {
            const BYTES: [u8; $words.len()] = $crate::words::scrambled($words.as_bytes());
            match str::from_utf8(&BYTES) {
                Ok(words) => words,
                Err(_) => panic!("words are ASCII"),
            }
        };
        if $crate::words::are_scrambled() {
            SCRAMBLED
        } else {
            $words
        }
    }};
}
pub(crate) use shown;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrambled_words_have_their_length_and_none_of_their_parts() {
        let words = scrambled::<11>(b"Mutex::lock");
        assert_eq!(str::from_utf8(&words), Ok("Zhgrk||ybpx"));
        let words = scrambled::<9>(b"scope end");
        assert_eq!(str::from_utf8(&words), Ok("fpbcr~raq"));
    }
}
