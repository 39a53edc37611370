//! The states that a test reports with `observe` in one execution.

use crate::base::memory::{EngineVec, engine_vec};

/// A new state is compared with this number of the newest states, and added if it differs from
/// them. So a state may be listed more than once.
const MOST_LOOKED_UP: usize = 64;

/// The maximum number of states that are kept of one execution. A loop without operations has no
/// other limit.
const MOST: usize = 1 << 16;

/// The hashes of the states of one execution.
pub(crate) struct Observed {
    states: EngineVec<u64>,
}

impl Observed {
    pub(super) const fn new() -> Self {
        Self {
            states: engine_vec(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
    }

    pub(super) fn add(&mut self, state: u64) {
        let recent = self.states.len().saturating_sub(MOST_LOOKED_UP);
        if self.states.len() < MOST && !self.states[recent..].contains(&state) {
            self.states.push(state);
        }
    }

    /// The states, in the order in which they were observed. A state may occur more than once.
    pub(crate) fn states(&self) -> &[u64] {
        &self.states
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_observes_one_state_adds_it_once() {
        let mut observed = Observed::new();
        for round in 0..1000 {
            observed.add(round % 3);
        }
        assert_eq!(observed.states(), [0, 1, 2]);
        observed.clear();
        assert!(observed.states().is_empty());
    }
}
