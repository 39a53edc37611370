//! The words that are shown to people. A test scrambles them, to show that no program reads them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;

static ARE_SCRAMBLED: AtomicBool = AtomicBool::new(false);

/// Makes this process show scrambled words from now on. A test checks in this way that no report,
/// explanation or page depends on the words.
pub fn scramble() {
    ARE_SCRAMBLED.store(true, Ordering::Relaxed);
}

/// Whether words are scrambled.
pub fn are_scrambled() -> bool {
    ARE_SCRAMBLED.load(Ordering::Relaxed)
}

/// Returns a sentence that programs only show and do not interpret. It is scrambled if words are
/// scrambled.
pub fn sentence(text: &str) -> Cow<'_, str> {
    if are_scrambled() {
        scrambled_text(text).into()
    } else {
        Cow::Borrowed(text)
    }
}

/// The scrambled form of `text`.
pub fn scrambled_text(text: &str) -> String {
    text.chars().map(scrambled_char).collect()
}

/// Replaces a letter by the one 13 places later in the alphabet, and a separator by another
/// character.
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

/// The scrambled form of `bytes`, of the same length.
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
