//! The covered part of tests, in words: distinct states and graphs, and the pairs of operations of
//! which only one order was seen.

use crate::events::{Covered, OrderedPair, PairedOperation, Pairs};
use crate::text::{plural, source_path, thousands};

/// The highest number of pairs that are listed for a test or for a run.
const MOST: usize = 20;

/// The counts of a test: `3 states and 24 graphs in 40 schedules (since schedule 16: 0 new states
/// and 8 new graphs)`.
pub(super) fn counts(covered: &Covered) -> String {
    let Some(end) = covered.growth.last() else {
        return "nothing".to_owned();
    };
    let numbers = |states: u64, graphs: u64| match covered.states {
        0 => plural(graphs, "new graph"),
        _ => format!(
            "{} and {}",
            plural(states, "new state"),
            plural(graphs, "new graph")
        ),
    };
    let states = match covered.states {
        0 => String::new(),
        states => plural(states, "state") + " and ",
    };
    let growth = covered.growth.iter().rev();
    let mut halves = growth.filter(|it| it.schedules <= end.schedules / 2);
    let since = halves.next().map_or_else(String::new, |half| {
        let new = numbers(end.states - half.states, end.graphs - half.graphs);
        let since = thousands(half.schedules);
        format!(" (since schedule {since}: {new})")
    });
    format!(
        "{states}{} in {}{since}{}",
        plural(covered.graphs, "graph"),
        plural(end.schedules, "schedule"),
        orders(covered)
    )
}

/// The numbers of pairs that were seen in both orders and in one order, in words.
fn orders(covered: &Covered) -> String {
    if covered.pairs.is_empty() {
        return String::new();
    }
    let blind = covered.pairs.iter().filter(|pair| pair.is_blind()).count();
    let both = covered.pairs.len() - blind;
    let limit = if covered.all_pairs {
        ""
    } else {
        " (of the first 2,048 operations)"
    };
    format!(
        "; {} of operations in both orders, {} in one{limit}",
        plural(both as u64, "pair"),
        thousands(blind as u64)
    )
}

/// A line for each pair of operations of which one order was never seen.
pub(super) fn blind(pairs: &[OrderedPair]) -> Vec<String> {
    let all: Vec<String> = pairs
        .iter()
        .filter(|pair| pair.is_blind())
        .map(sentence)
        .collect();
    let more = all.len().saturating_sub(MOST);
    let rest = (more > 0).then(|| {
        format!(
            "... and {} (--message-format json prints all of them)",
            plural(more as u64, "other pair")
        )
    });
    all.into_iter().take(MOST).chain(rest).collect()
}

fn sentence(pair: &OrderedPair) -> String {
    if pair.first == pair.second {
        let task = if pair.first_before_second {
            "smaller"
        } else {
            "larger"
        };
        return format!(
            "{}: of two tasks that run it, the one with the {task} number was always first",
            words(&pair.first)
        );
    }
    let (first, second) = if pair.first_before_second {
        (&pair.first, &pair.second)
    } else {
        (&pair.second, &pair.first)
    };
    format!("{} never ran after {}", words(first), words(second))
}

/// For example, `` `Mutex::lock self.messages` at src/lib.rs:15 ``.
fn words(operation: &PairedOperation) -> String {
    let object = operation.object.as_ref();
    let object = object.map_or_else(String::new, |object| format!(" {object}"));
    let place = &operation.location;
    format!(
        "`{}{object}` at {}:{}",
        operation.operation,
        source_path(&place.file),
        place.line
    )
}

/// The covered parts of the tests of a run.
#[derive(Default)]
pub(super) struct CoveredByRun {
    tests: u64,
    pairs: Pairs,
}

impl CoveredByRun {
    /// Adds the covered part of a finished test.
    pub(super) fn add(&mut self, covered: &Covered) {
        self.tests += 1;
        self.pairs.add(&covered.pairs);
    }

    /// A heading, and a line for each pair of operations that the tests have run in one order
    /// only. Empty for a run of a single test, because the lines of that test already name the
    /// pairs.
    pub(super) fn sentences(&self) -> Vec<String> {
        if self.tests < 2 {
            return Vec::new();
        }
        let pairs = self.pairs.to_vec();
        let count = pairs.iter().filter(|pair| pair.is_blind()).count();
        let heading = format!(
            "{} of conflicting operations in {}, {} of them in one order only",
            plural(pairs.len() as u64, "pair"),
            plural(self.tests, "test"),
            thousands(count as u64)
        );
        let heading = (!pairs.is_empty()).then_some(heading);
        heading.into_iter().chain(blind(&pairs)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Growth, Location};

    fn operation(name: &str, line: u32) -> PairedOperation {
        PairedOperation {
            location: Location {
                file: "src/lib.rs".into(),
                line,
                column: 9,
            },
            operation: name.into(),
            object: Some("self.jobs".into()),
        }
    }

    fn covered(states: u64) -> Covered {
        let pair = |lines: (u32, u32), orders: (bool, bool)| OrderedPair {
            first: operation("Mutex::lock", lines.0),
            second: operation("Mutex::try_lock", lines.1),
            first_before_second: orders.0,
            second_before_first: orders.1,
        };
        let same = OrderedPair {
            second: operation("Mutex::lock", 7),
            ..pair((7, 7), (true, false))
        };
        let growth = [(1, 1), (2, 2), (4, 3), (8, 4), (9, 4)];
        let growth = growth.map(|(schedules, graphs)| Growth {
            schedules,
            graphs,
            states: states.min(schedules),
        });
        Covered {
            states,
            graphs: 4,
            growth: growth.to_vec(),
            pairs: vec![
                pair((3, 5), (true, false)),
                pair((3, 6), (false, true)),
                pair((4, 5), (true, true)),
                same,
            ],
            all_pairs: true,
        }
    }

    #[test]
    fn counts_say_how_much_the_last_half_added() {
        insta::assert_snapshot!(counts(&covered(5)), @"5 states and 4 graphs in 9 schedules (since schedule 4: 1 new state and 1 new graph); 1 pair of operations in both orders, 3 in one");
        insta::assert_snapshot!(counts(&covered(0)), @"4 graphs in 9 schedules (since schedule 4: 1 new graph); 1 pair of operations in both orders, 3 in one");
    }

    #[test]
    fn a_pair_in_one_order_is_printed_with_this_order() {
        insta::assert_snapshot!(blind(&covered(0).pairs).join("\n"), @r"
        `Mutex::lock self.jobs` at src/lib.rs:3 never ran after `Mutex::try_lock self.jobs` at src/lib.rs:5
        `Mutex::try_lock self.jobs` at src/lib.rs:6 never ran after `Mutex::lock self.jobs` at src/lib.rs:3
        `Mutex::lock self.jobs` at src/lib.rs:7: of two tasks that run it, the one with the smaller number was always first
        ");
    }

    #[test]
    fn a_run_unites_the_orders_of_its_tests() {
        let mut run = CoveredByRun::default();
        run.add(&covered(0));
        assert!(run.sentences().is_empty());
        let mut other = covered(0);
        other.pairs.truncate(1);
        other.pairs[0].second_before_first = true;
        run.add(&other);
        let text = run.sentences().join("\n");
        assert!(text.starts_with(
            "4 pairs of conflicting operations in 2 tests, 2 of them in one order only\n"
        ));
        assert!(!text.contains("lib.rs:5"), "{text}");
    }
}
