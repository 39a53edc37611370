//! The table: the sites of each crate, and the reasons why some sites were not rewritten.

use std::collections::BTreeMap;
use std::fmt::Write;

use rewriter::{Left, Site};

use crate::sources::Rewritten;

#[derive(Default)]
struct Counts {
    found: usize,
    reported: usize,
    left: BTreeMap<Left, usize>,
}

impl Counts {
    fn add(&mut self, site: &Site) {
        self.found += 1;
        match site.left {
            None => self.reported += 1,
            Some(left) => *self.left.entry(left).or_default() += 1,
        }
    }
}

/// Returns a row for each crate, a row with the sums, and a row for each kind of site.
pub(crate) fn of(all: &[Rewritten]) -> String {
    let mut text = String::new();
    let mut total = Counts::default();
    let mut reaches = 0;
    let mut kinds = BTreeMap::<_, Counts>::new();
    for one in all {
        let mut counts = Counts::default();
        for site in one.files.values().flat_map(|file| &file.rewrite.sites) {
            counts.add(site);
            total.add(site);
            kinds.entry(site.id.kind).or_default().add(site);
        }
        reaches += one.reaches;
        text += &row(&one.package.to_string(), &counts, Some(one.reaches));
    }
    text += &row("all", &total, Some(reaches));
    text.push('\n');
    for (kind, counts) in kinds {
        text += &row(&kind.to_string(), &counts, None);
    }
    text
}

fn row(name: &str, counts: &Counts, reaches: Option<usize>) -> String {
    let Counts {
        found,
        reported,
        left,
    } = counts;
    let mut row = format!("{name:28} {found:5} found {reported:5} reported");
    if *found > 0 {
        let percent = reported * 1000 / found;
        write!(row, " {:3}.{} %", percent / 10, percent % 10).expect("memory takes every byte");
    }
    for (left, count) in left {
        write!(row, "; {count} {left}").expect("memory takes every byte");
    }
    if let Some(reaches) = reaches {
        write!(row, "; {reaches} names under control").expect("memory takes every byte");
    }
    row + "\n"
}
