//! The set of happens-before graphs seen, as hashes.

use crate::platform::memory::{EngineVec, engine_vec};

/// A set of hashes with open addressing.
pub(crate) struct DistinctGraphs {
    slots: EngineVec<u64>,
    count: u64,
}

const FIRST_SIZE: usize = 1024;
/// Stands for the hash 0, which marks an empty slot.
const ZERO: u64 = 0x9e37_79b9_7f4a_7c15;

impl DistinctGraphs {
    pub(crate) const fn new() -> Self {
        Self {
            slots: engine_vec(),
            count: 0,
        }
    }

    /// How many graphs were seen.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds a graph.
    #[inline]
    pub(crate) fn insert(&mut self, graph: u64) {
        if (self.count as usize + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.count += u64::from(self.place(if graph == 0 { ZERO } else { graph }));
    }

    fn place(&mut self, graph: u64) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = graph as usize & mask;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = graph;
                    return true;
                }
                same if same == graph => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SIZE);
        let old = core::mem::replace(&mut self.slots, engine_vec());
        self.slots.resize(size, 0);
        for &graph in old.iter().filter(|&&graph| graph != 0) {
            self.place(graph);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_graph_once() {
        let mut graphs = DistinctGraphs::new();
        for i in 0..5000u64 {
            graphs.insert((i % 2500).wrapping_mul(0x2545_f491_4f6c_dd1d));
        }
        assert_eq!(graphs.count(), 2500);
    }
}
