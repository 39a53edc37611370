//! Mutations of texts.

use fastrand::Rng;

/// The highest number of characters of an input.
const LONGEST: usize = 16 << 10;

/// The highest number of changes of a sample.
const CHANGES: usize = 6;

/// Characters that parsers treat in a special way, or that have an unusual size.
const CHARACTERS: &str = "\"'\\`()[]{}<>=:,;.#!?*&-+/%$@|_09erb \t\n\r\0\u{7f}\u{85}\u{a0}\u{e4}\u{301}\u{2028}\u{4e2d}\u{feff}\u{1f980}";

/// Numbers at the limits of types.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "65536",
    "2147483647",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e999",
    "0.1",
];

/// Returns a sample after some random changes.
pub(crate) fn mutated(samples: &[String], words: &[&str], random: &mut Rng) -> String {
    let sample = |random: &mut Rng| -> Vec<char> { choice(samples, random).chars().collect() };
    let mut text = sample(random);
    for _ in 0..random.usize(1..=CHANGES) {
        let range = range(text.len(), random);
        match random.u32(0..10) {
            0 => drop(text.drain(range)),
            1 => {
                let part = text[range.clone()].to_vec();
                let times = random.usize(1..=3) * random.usize(1..=20);
                insert(&mut text, range.end, part.repeat(times));
            }
            2 | 3 => {
                let word = choice(words, random).chars().collect();
                insert(&mut text, range.start, word);
            }
            4 | 5 => insert(&mut text, range.start, vec![character(random)]),
            6 => {
                if let Some(c) = text.get_mut(range.start) {
                    *c = character(random);
                }
            }
            7 => {
                let is_number = |c: &char| c.is_ascii_digit();
                let start = text[range.start..].iter().position(is_number);
                let start = range.start + start.unwrap_or(0);
                let length = text[start..].iter().take_while(|c| is_number(c)).count();
                let number = choice(NUMBERS, random).chars();
                text.splice(start..start + length, number);
            }
            8 => {
                let other = sample(random);
                let part = other[self::range(other.len(), random)].to_vec();
                insert(&mut text, range.start, part);
            }
            _ => {
                // A part of the text moves to another place.
                let part: Vec<char> = text.drain(range).collect();
                let at = random.usize(0..=text.len());
                insert(&mut text, at, part);
            }
        }
        text.truncate(LONGEST);
    }
    text.into_iter().collect()
}

fn insert(text: &mut Vec<char>, at: usize, part: Vec<char>) {
    text.splice(at..at, part);
}

/// A random range of indices, which is short more often than long.
fn range(length: usize, random: &mut Rng) -> std::ops::Range<usize> {
    let start = random.usize(0..=length);
    let most = length - start;
    let most = most.min(1 << random.u32(0..12));
    start..start + random.usize(0..=most)
}

fn character(random: &mut Rng) -> char {
    let count = CHARACTERS.chars().count();
    let found = CHARACTERS.chars().nth(random.usize(..count));
    found.expect("the index is below the count")
}

fn choice<'a, T>(all: &'a [T], random: &mut Rng) -> &'a T {
    &all[random.usize(..all.len())]
}
