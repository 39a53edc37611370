//! The measure of the covered part of a test: distinct states and happens-before graphs, and their
//! growth over the schedules.

use super::covered_pairs::CoveredPairs;
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::HashSet;

/// The numbers of distinct states and graphs after a number of schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Growth {
    pub(crate) schedules: u64,
    pub(crate) states: u64,
    pub(crate) graphs: u64,
}

codec!(Growth {
    schedules,
    states,
    graphs
});

/// The states that a test has observed in all of its executions, and the growth of their number
/// (Agarwal, Deligiannis, Huang, Jung, Lal, Naseer, Parkinson, Thangamani, Vedurada and Xiao,
/// "Nekara", ASE'21, section V: unique states of memcached by the number of executions).
pub(crate) struct Covered {
    pub(crate) states: HashSet,
    /// The numbers after 1, 2, 4, 8, ... schedules.
    pub(crate) growth: EngineVec<Growth>,
    pub(crate) pairs: CoveredPairs,
}

codec!(Covered {
    states,
    growth,
    pairs
});

impl Covered {
    pub(crate) const fn new() -> Self {
        Self {
            states: HashSet::new(),
            growth: engine_vec(),
            pairs: CoveredPairs::new(),
        }
    }

    /// Adds the states of an execution. Returns whether one of them is new, or `None` if `states`
    /// is empty.
    #[inline]
    pub(crate) fn add_states(&mut self, states: &[u64]) -> Option<bool> {
        let before = self.states.count();
        for &state in states {
            self.states.insert(state);
        }
        (!states.is_empty()).then(|| self.states.count() > before)
    }

    /// Records the end of a schedule. `schedules` is the number of schedules so far, and `graphs`
    /// the number of distinct graphs so far.
    #[inline]
    pub(crate) fn count_schedule(&mut self, schedules: u64, graphs: u64) {
        if schedules.is_power_of_two() {
            self.growth.push(Growth {
                schedules,
                states: self.states.count(),
                graphs,
            });
        }
    }

    /// The growth up to now. Its last element has the current numbers: `schedules` is the number
    /// of schedules so far, and `graphs` the number of distinct graphs so far.
    pub(crate) fn growth_up_to(
        &self,
        schedules: u64,
        graphs: u64,
    ) -> impl Iterator<Item = Growth> + '_ {
        let last = Growth {
            schedules,
            states: self.states.count(),
            graphs,
        };
        let is_new = self.growth.last() != Some(&last) && schedules > 0;
        self.growth.iter().copied().chain(is_new.then_some(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_has_the_powers_of_two_and_the_end() {
        let mut covered = Covered::new();
        for schedule in 1..=6 {
            covered.add_states(&[schedule / 2, 7]);
            covered.count_schedule(schedule, schedule);
        }
        let growth: Vec<_> = covered.growth_up_to(6, 6).collect();
        let numbers: Vec<_> = growth.iter().map(|it| (it.schedules, it.states)).collect();
        assert_eq!(numbers, [(1, 2), (2, 3), (4, 4), (6, 5)]);
        let growth = covered.growth_up_to(4, 4).last().expect("an end");
        assert_eq!((growth.schedules, growth.graphs), (4, 4));
    }
}
