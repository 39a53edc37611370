//! `--shard K/N`: the tests, or the parts of tests, that this machine explores.
//!
//! The choice needs no communication with other machines.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the parts of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Shard {
    /// The number of the shard, from 1.
    index: u32,
    /// The number of shards.
    count: u32,
}

impl Shard {
    /// The number of the shard, from 1.
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    /// The number of shards.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Whether this shard has the test at `position` in the order of the whole run.
    ///
    /// Tests are distributed in rotation. So the numbers of tests of two shards differ by at most
    /// one, and neighbouring tests, which often take the same time, go to different shards.
    pub(crate) fn takes(self, position: usize) -> bool {
        position % self.count as usize == self.index as usize - 1
    }

    /// The elements of `all` that this shard has.
    pub(crate) fn part_of<T>(self, all: Vec<T>) -> Vec<T> {
        let taken = self.deal(all, |_| false).into_iter();
        taken.map(|(item, _)| item).collect()
    }

    /// The elements of `all` that this shard has. If `is_divided` returns true for an element,
    /// every shard has a part of it, and the part of this shard is returned with it.
    pub(crate) fn deal<T>(
        self,
        all: Vec<T>,
        is_divided: impl Fn(&T) -> bool,
    ) -> Vec<(T, Option<Self>)> {
        let mut position = 0;
        let taken = all.into_iter().filter_map(|item| {
            if is_divided(&item) {
                return Some((item, Some(self)));
            }
            position += 1;
            self.takes(position - 1).then_some((item, None))
        });
        taken.collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        };
        let numbers = text
            .split_once('/')
            .and_then(|(index, count)| Some((number(index)?, number(count)?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            Some((_, 0)) => Err(format!(
                "expected K/N with at least one shard, found `{text}`"
            )),
            Some((_, count)) => Err(format!(
                "expected one of the shards 1/{count} to {count}/{count}, found `{text}`"
            )),
            None => Err(format!(
                "expected K/N, as in 1/4 for the first of four shards, found `{text}`"
            )),
        }
    }
}

/// The data of a shard's events about the whole run. `cargo chess merge` needs them to join the
/// shards.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Part {
    /// The number of the shard, from 1.
    pub index: u32,
    /// The number of shards.
    pub count: u32,
    /// The number of selected tests of all shards.
    pub tests: usize,
    /// The number of selected tests of which every shard explores a part.
    #[serde(default)]
    pub divided: usize,
    /// The number of test binaries that contain the selected tests.
    pub binaries: usize,
    /// Whether the run ends at the first failing test.
    pub fail_fast: bool,
    /// Whether an unfinished bound is an error.
    pub require_complete: bool,
    /// Whether a run without any test under control is an error.
    pub require_tests: bool,
    /// Digest of the identities of the tests of all shards.
    pub selection: String,
    /// Digest of the options of the tests of all shards.
    pub options: String,
    /// Digest of the sources.
    pub sources: String,
    /// The compiler.
    pub rustc: String,
}

impl Part {
    /// The shard that this part describes.
    pub(crate) fn shard(&self) -> Shard {
        Shard {
            index: self.index,
            count: self.count,
        }
    }

    /// The shards of this run.
    pub(crate) fn all_shards(&self) -> impl Iterator<Item = Shard> + use<> {
        let count = self.count;
        (1..=count).map(move |index| Shard { index, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(text: &str) -> Shard {
        text.parse().expect("a shard")
    }

    #[test]
    fn each_test_is_in_exactly_one_shard_and_shards_differ_by_one_test_at_most() {
        for tests in 0..40_usize {
            for count in 1..12_u32 {
                let parts: Vec<Vec<usize>> = (1..=count)
                    .map(|index| shard(&format!("{index}/{count}")).part_of((0..tests).collect()))
                    .collect();
                let sizes = parts.iter().map(Vec::len);
                let (least, most) = (sizes.clone().min(), sizes.max());
                assert!(most <= least.map(|least| least + 1), "{parts:?}");
                let mut all = parts.concat();
                all.sort_unstable();
                assert_eq!(all, (0..tests).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_shard_that_is_none_is_refused_in_words() {
        let refusals: Vec<String> = ["0/3", "4/3", "1/0", "x", "1", "1/", "-1/3", "+1/3", "1/3/5"]
            .iter()
            .map(|text| text.parse::<Shard>().expect_err("no shard"))
            .collect();
        insta::assert_snapshot!(refusals.join("\n"), @r"
        expected one of the shards 1/3 to 3/3, found `0/3`
        expected one of the shards 1/3 to 3/3, found `4/3`
        expected K/N with at least one shard, found `1/0`
        expected K/N, as in 1/4 for the first of four shards, found `x`
        expected K/N, as in 1/4 for the first of four shards, found `1`
        expected K/N, as in 1/4 for the first of four shards, found `1/`
        expected K/N, as in 1/4 for the first of four shards, found `-1/3`
        expected K/N, as in 1/4 for the first of four shards, found `+1/3`
        expected K/N, as in 1/4 for the first of four shards, found `1/3/5`
        ");
        assert_eq!(shard("3/3").to_string(), "3/3");
    }
}
