//! The covered part of a test, as data: distinct states and happens-before graphs, and the orders
//! of conflicting operations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Location;

/// The covered part of a test.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Covered {
    /// The number of distinct states that the test has observed; 0 if it observes none.
    pub states: u64,
    /// The number of distinct happens-before graphs.
    pub graphs: u64,
    /// The numbers of states and of graphs after 1, 2, 4, 8, ... schedules, and at the end.
    pub growth: Vec<Growth>,
    /// With `--coverage`: each pair of conflicting operations of two tasks that other events left
    /// unordered in some execution.
    #[serde(default)]
    pub pairs: Vec<OrderedPair>,
    /// Whether `pairs` has all of these pairs. Some may be missing, because a limited number of
    /// operations is recorded for each test.
    #[serde(default)]
    pub all_pairs: bool,
}

/// The numbers of distinct states and graphs after a number of schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Growth {
    /// The number of schedules.
    pub schedules: u64,
    /// The number of states up to then.
    pub states: u64,
    /// The number of happens-before graphs up to then.
    pub graphs: u64,
}

/// Two conflicting operations in the source, and the orders in which two tasks performed them on one
/// object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OrderedPair {
    /// One operation.
    pub first: PairedOperation,
    /// The other operation. It may be the same operation of the source, performed by two tasks. In
    /// this case, `first` is the operation of the task with the smaller number.
    pub second: PairedOperation,
    /// Whether `first` comes before `second` in some execution.
    pub first_before_second: bool,
    /// Whether `second` comes before `first` in some execution.
    pub second_before_first: bool,
}

/// An operation in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PairedOperation {
    /// The source line of the operation.
    pub location: Location,
    /// The operation, in the form of the events.
    pub operation: String,
    /// The expression that the operation acts on, if the source shows one.
    #[serde(default)]
    pub object: Option<String>,
}

impl OrderedPair {
    /// Whether only one order was seen.
    pub(crate) fn is_blind(&self) -> bool {
        self.first_before_second != self.second_before_first
    }
}

/// The union of pairs of several tests, or of several parts of one test.
#[derive(Clone, Default, Debug)]
pub(crate) struct Pairs(BTreeMap<(PairedOperation, PairedOperation), (bool, bool)>);

impl Pairs {
    /// Adds pairs. The union has an order if any of its pairs has it.
    pub(crate) fn add(&mut self, pairs: &[OrderedPair]) {
        for pair in pairs {
            let key = (pair.first.clone(), pair.second.clone());
            let (forward, backward) = self.0.entry(key).or_default();
            *forward |= pair.first_before_second;
            *backward |= pair.second_before_first;
        }
    }

    /// All pairs, sorted by their operations.
    pub(crate) fn to_vec(&self) -> Vec<OrderedPair> {
        let pairs = self.0.iter();
        pairs
            .map(|((first, second), &(forward, backward))| OrderedPair {
                first: first.clone(),
                second: second.clone(),
                first_before_second: forward,
                second_before_first: backward,
            })
            .collect()
    }
}

impl Covered {
    /// The covered part of a test whose parts were explored separately; `None` if there are no
    /// parts. The number of states and graphs that the parts have in common is not known. So the
    /// numbers are those of the largest part.
    pub(crate) fn merged<'a>(parts: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let largest = parts
            .clone()
            .max_by_key(|part| (part.states, part.graphs))?;
        let all_pairs = parts.clone().all(|part| part.all_pairs);
        let mut pairs = Pairs::default();
        for part in parts {
            pairs.add(&part.pairs);
        }
        Some(Self {
            pairs: pairs.to_vec(),
            all_pairs,
            ..largest.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(line: u32) -> PairedOperation {
        PairedOperation {
            location: Location {
                file: "src/lib.rs".into(),
                line,
                column: 9,
            },
            operation: "Mutex::lock".into(),
            object: None,
        }
    }

    fn part(states: u64, orders: [(bool, bool); 2]) -> Covered {
        let pair = |(line, (forward, backward))| OrderedPair {
            first: operation(line),
            second: operation(9),
            first_before_second: forward,
            second_before_first: backward,
        };
        Covered {
            states,
            pairs: (3..).zip(orders).map(pair).collect(),
            ..Covered::default()
        }
    }

    #[test]
    fn a_pair_is_blind_if_no_part_has_its_other_order() {
        let parts = [
            part(3, [(true, false), (true, false)]),
            part(2, [(false, true), (true, false)]),
        ];
        assert!(parts[0].pairs.iter().all(OrderedPair::is_blind));
        let merged = Covered::merged(parts.iter()).expect("there are parts");
        let blind: Vec<bool> = merged.pairs.iter().map(OrderedPair::is_blind).collect();
        assert_eq!((merged.states, &*blind), (3, &[false, true][..]));
    }
}
