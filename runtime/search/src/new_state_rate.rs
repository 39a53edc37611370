//! The rate of new states among the last schedules, in a test that observes its states.
//!
//! `portfolio.rs` uses the rate to compare strategies. `auto.rs` uses it to compare `icb` with the
//! samples that alternate with it.

use crate::base::codec::codec;

/// The number of schedules of a slice. All of them are of `icb`, or all are samples.
const SLICE: u32 = 2;

/// The alternation of `icb` and samples in a test that observes its states. The side (`icb` or
/// samples) that finds more new states has more slices. New happens-before graphs would be no
/// measure: nearly every schedule of `icb` has a new graph, even if its states are not new.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// Whether the test has observed a state.
    pub(super) observes: bool,
    /// The number of schedules of the current slice that have begun.
    taken: u32,
    bounded: Side,
    sampled: Side,
}

codec!(Turns {
    observes,
    taken,
    bounded,
    sampled,
});

/// One of the two sides (`icb` or samples): the cost of its slices, and its rate of new states.
#[derive(Clone, Copy)]
struct Side {
    cost: f64,
    finds: Finds,
}

codec!(Side { cost, finds });

impl Turns {
    pub(super) const NEW: Self = Self {
        observes: false,
        taken: SLICE,
        bounded: Side::NEW,
        sampled: Side::NEW,
    };

    /// Chooses the side of the next schedule, and returns whether it is a sample. `is_sample`:
    /// whether the last schedule was a sample.
    pub(super) fn next_is_sample(&mut self, is_sample: bool) -> bool {
        if self.taken == SLICE {
            self.taken = 0;
            let side = self.side(is_sample);
            side.cost += side.finds.cost();
        }
        self.taken += 1;
        if self.taken == 1 {
            self.sampled.cost < self.bounded.cost
        } else {
            is_sample
        }
    }

    /// Records whether a schedule had a new state. `is_sample`: whether this schedule was a sample.
    pub(super) fn count(&mut self, is_sample: bool, is_new: bool) {
        self.observes = true;
        self.side(is_sample).finds.count(is_new);
    }

    fn side(&mut self, is_sample: bool) -> &mut Side {
        if is_sample {
            &mut self.sampled
        } else {
            &mut self.bounded
        }
    }
}

impl Side {
    const NEW: Self = Self {
        cost: 0.0,
        finds: Finds::NONE,
    };
}

/// The share of the recent schedules that had a new state.
#[derive(Clone, Copy)]
pub(super) struct Finds {
    taken: f64,
    fresh: f64,
}

codec!(Finds { taken, fresh });

impl Finds {
    /// About this number of recent schedules counts.
    const LAST: f64 = 128.0;

    pub(super) const NONE: Self = Self {
        taken: 0.0,
        fresh: 0.0,
    };

    /// Counts a schedule.
    pub(super) fn count(&mut self, is_new: bool) {
        let kept = 1.0 - 1.0 / Self::LAST;
        self.taken = self.taken * kept + 1.0;
        self.fresh = self.fresh * kept + f64::from(u8::from(is_new));
    }

    /// The cost of a slice: the reciprocal of the square of the rate of new states. The square
    /// makes the choice greedy: a strategy with half the rate of another has a fourth of its slices.
    pub(super) fn cost(&self) -> f64 {
        1.0 / self.rate().powi(2)
    }

    /// The estimated share of the recent schedules that had a new state. Never 0.
    fn rate(&self) -> f64 {
        (self.fresh + 0.5) / (self.taken + 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of samples among 1,000 schedules, after 1,000 schedules in which the rates settle.
    /// Each flag: whether every schedule of that side has a new state.
    fn samples(icb_finds: bool, samples_find: bool) -> u32 {
        let mut turns = Turns::NEW;
        turns.count(false, true);
        let (mut is_sample, mut samples) = (false, 0);
        for schedule in 0..2_000 {
            is_sample = turns.next_is_sample(is_sample);
            samples += u32::from(is_sample && schedule >= 1_000);
            turns.count(is_sample, if is_sample { samples_find } else { icb_finds });
        }
        samples
    }

    #[test]
    fn a_side_that_finds_new_states_has_more_turns() {
        assert!(samples(false, true) > 950);
        assert!(samples(true, false) < 50);
        for finds in [false, true] {
            assert!((450..=550).contains(&samples(finds, finds)));
        }
    }
}
