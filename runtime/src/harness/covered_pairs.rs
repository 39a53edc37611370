//! The pairs of conflicting operations of a test, by their places in the source, and the orders in
//! which they were executed.

use crate::base::address_table::AddressTable;
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{Codec, codec};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::{Execution, Label};
use crate::search::{Labelled, Orders, PairOrders};

/// The maximum number of operations of the source whose pairs are recorded. It limits the memory
/// for the orders of the pairs, which is a byte for each pair.
const MOST: usize = 1 << 11;

/// Stands for the index of an operation whose pairs are not recorded.
const NONE: u32 = u32::MAX;

/// An operation of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    pub(crate) place: Place,
    /// The name of the operation in reports.
    pub(crate) name: &'static str,
}

codec!(Operation { place, name });

impl Operation {
    /// The order of operations in reports.
    fn key(&self) -> (&[u8], u32, u32, &str) {
        let place = &self.place;
        (&place.file, place.line, place.column, self.name)
    }
}

/// The operations of the test's own code, and the orders of their pairs.
pub(crate) struct CoveredPairs {
    /// Whether some operations were not recorded, because there are more than [`MOST`].
    pub(crate) is_limited: bool,
    operations: EngineVec<Operation>,
    orders: Orders,
    /// The index in `operations` of each operation that this process has met, or [`NONE`] if its
    /// pairs are not recorded. The key is the kind of the operation and the address of its
    /// `Location` static. Addresses differ between processes, so checkpoints do not contain this
    /// table.
    numbers: Option<AddressTable>,
    labels: EngineVec<Labelled>,
}

impl Codec for CoveredPairs {
    fn write(&self, out: &mut Checkpoint) {
        self.is_limited.write(out);
        self.operations.write(out);
        self.orders.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(Self {
            is_limited: Codec::read(input)?,
            operations: Codec::read(input)?,
            orders: Codec::read(input)?,
            ..Self::new()
        })
    }
}

impl CoveredPairs {
    pub(crate) const fn new() -> Self {
        Self {
            is_limited: false,
            operations: engine_vec(),
            orders: Orders::new(),
            numbers: None,
            labels: engine_vec(),
        }
    }

    /// Records the orders of conflicting operations in the last execution.
    pub(crate) fn add(&mut self, execution: &mut Execution) {
        self.labels.clear();
        for at in 0..execution.log.labels.len() {
            let label = execution.log.labels[at];
            let line = self.number_of(execution, label);
            if line != NONE {
                self.labels.push(Labelled {
                    touch: label.touch,
                    line,
                });
            }
        }
        self.orders.add(&execution.log.trace, &self.labels);
    }

    /// The index in `operations` of the operation of `label`, which is added if it is new.
    /// [`NONE`] if the operation is not in code of policy `preempt`, or if there are too many
    /// operations.
    fn number_of(&mut self, execution: &mut Execution, label: Label) -> u32 {
        let numbers = self.numbers.get_or_insert_with(|| {
            let mut numbers = AddressTable::new();
            numbers.clear();
            numbers
        });
        // An address of user space has 47 bits, so the bits above are free for the kind.
        let address = core::ptr::from_ref(label.site).addr() | (label.op as usize) << 48;
        if let Some(number) = numbers.find(address) {
            return number;
        }
        let number = if execution.is_preempted_at(label.site) {
            let operation = Operation {
                place: Place::of(label.site),
                name: label.op.name(),
            };
            // One place may have several addresses.
            let known = self.operations.iter().position(|it| *it == operation);
            match known {
                Some(known) => known as u32,
                None if self.operations.len() == MOST => {
                    self.is_limited = true;
                    NONE
                }
                None => {
                    self.operations.push(operation);
                    self.operations.len() as u32 - 1
                }
            }
        } else {
            NONE
        };
        numbers.at(address, number)
    }

    /// The pairs of operations that raced in some execution, with the orders in which they were
    /// executed. They are sorted by the places of the operations.
    pub(crate) fn pairs(&self) -> Vec<(&Operation, &Operation, PairOrders)> {
        let mut pairs = Vec::new();
        for second in 0..self.operations.len() {
            for first in 0..=second {
                let mut orders = self.orders.of(first as u32, second as u32);
                let mut operations = [&self.operations[first], &self.operations[second]];
                if !orders.races {
                    continue;
                }
                if operations[0].key() > operations[1].key() {
                    operations.reverse();
                    core::mem::swap(&mut orders.forward, &mut orders.backward);
                }
                pairs.push((operations[0], operations[1], orders));
            }
        }
        pairs.sort_by_key(|(first, second, _)| (first.key(), second.key()));
        pairs
    }
}
