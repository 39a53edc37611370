//! `auto`: what suits most tests.
//!
//! First `icb`, so that a failure has the fewest preemptions and what is finished
//! is a guarantee; then `dpor`, which sees all there is to see if it comes to an
//! end; then strategies that sample, as long as they find anything new. The first two
//! are left early where, by an estimate of what they have still to explore, they come
//! to no end: what they would take is better sampled.

use super::{
    ChoicePoint, Divergence, Dpor, Ended, Icb, Part, Pct, Portfolio, Pos, Progress, Random, Surw,
};
use super::{SchedulingPoint, Share, Stored, Strategy, Written};
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

/// Sampling goes on for so many schedules at least after it found anything new, and
/// for half as many as it has taken.
const PATIENCE: u64 = 1_000;

/// Estimates are looked at after so many schedules, again and again.
const LOOK: u64 = 64;
/// They are trusted after a part of what is left: one in so many schedules.
const TRUSTED: u64 = 8;
/// A bound may have so many times less left than it seems: it is a promise.
const DOUBT: f64 = 8.0;

/// How much sampling is each strategy's, before it shows how much it finds.
const WEIGHTS: [f64; 4] = [1.0, 6.0, 2.0, 1.0];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Bounded,
    Reduced,
    Sampled,
}

/// The search.
pub(crate) struct Auto {
    stage: Stage,
    /// So many schedules of this stage are left, and were run.
    left: u64,
    taken: u64,
    /// Schedules left to all stages.
    budget: u64,
    /// Schedules that were sampled since one of them was new.
    stale: u64,
    bounded: Icb,
    /// Which part of the space is explored; the reduced search cannot be divided.
    part: Part,
    reduced: Dpor,
    sampled: Portfolio,
}

impl Auto {
    /// A search that finishes up to `preemptions` preemptions first, and takes
    /// `budget` schedules at most.
    pub(crate) fn new(preemptions: u32, budget: u64, seed: u64, part: Part) -> Self {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Pct::new(seed), EngineMemory));
        members.push(Box::new_in(Pos::new(seed.wrapping_add(1)), EngineMemory));
        members.push(Box::new_in(Surw::new(seed.wrapping_add(2)), EngineMemory));
        members.push(Box::new_in(Random::new(seed.wrapping_add(3)), EngineMemory));
        Self {
            stage: Stage::Bounded,
            // Where bounds take too long to finish, sampling is to have its share.
            left: budget - budget / 4,
            taken: 0,
            budget,
            stale: 0,
            bounded: Icb::new(preemptions, budget).of_part(part),
            part,
            reduced: Dpor::new(),
            sampled: Portfolio::weighted(members, &WEIGHTS),
        }
    }

    /// Whether the stage is not worth going on with.
    fn is_hopeless(&self) -> bool {
        let is_late = |taken| taken >= self.left / TRUSTED;
        let left = self.left as f64;
        match self.stage {
            Stage::Sampled => self.stale >= PATIENCE.max(self.taken / 2),
            _ if !self.taken.is_multiple_of(LOOK) => false,
            Stage::Bounded => {
                is_late(self.bounded.taken_of_bound())
                    && self.bounded.rest_of_bound() > left * DOUBT
            }
            // More of the space turns up as it goes on, hardly ever less.
            Stage::Reduced => is_late(self.taken) && self.rest_of_space() > left,
        }
    }

    /// About how many schedules the reduced search has left.
    fn rest_of_space(&self) -> f64 {
        let (taken, explored) = (self.taken as f64, self.reduced.explored());
        explored.map_or(f64::INFINITY, |explored| taken / explored - taken)
    }

    #[inline]
    fn current(&mut self) -> &mut dyn Strategy {
        match self.stage {
            Stage::Bounded => &mut self.bounded,
            Stage::Reduced => &mut self.reduced,
            Stage::Sampled => &mut self.sampled,
        }
    }

    fn running(&self) -> &dyn Strategy {
        match self.stage {
            Stage::Bounded => &self.bounded,
            Stage::Reduced => &self.reduced,
            Stage::Sampled => &self.sampled,
        }
    }
}

impl Strategy for Auto {
    fn name(&self) -> &'static str {
        self.running().name()
    }

    fn begin(&mut self) -> bool {
        loop {
            if self.left > 0 && !self.is_hopeless() && self.current().begin() {
                self.left -= 1;
                self.taken += 1;
                self.budget -= 1;
                return true;
            }
            if self.progress().complete {
                return false;
            }
            (self.stage, self.left) = match self.stage {
                Stage::Bounded if self.part.is_first() => (Stage::Reduced, self.budget / 2),
                Stage::Bounded | Stage::Reduced => (Stage::Sampled, self.budget),
                Stage::Sampled => return false,
            };
            self.taken = 0;
        }
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        match self.stage {
            Stage::Bounded => self.bounded.choose_task(point),
            Stage::Reduced => self.reduced.choose_task(point),
            Stage::Sampled => self.sampled.choose_task(point),
        }
    }

    #[inline]
    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.current().choose_outcome(point)
    }

    fn retry(&mut self) {
        self.current().retry();
    }

    fn end(&mut self, execution: &Ended<'_>) {
        if self.stage == Stage::Sampled {
            self.stale = if execution.is_new { 0 } else { self.stale + 1 };
        }
        self.current().end(execution);
    }

    fn wants_trace(&self) -> bool {
        self.running().wants_trace()
    }

    fn share(&self) -> Option<Share> {
        self.bounded.share()
    }

    fn as_icb(&mut self) -> Option<&mut Icb> {
        (self.stage == Stage::Bounded).then_some(&mut self.bounded)
    }

    fn explored(&self) -> Option<f64> {
        self.running().explored()
    }

    fn diverged(&self) -> bool {
        self.running().diverged()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.running().divergence()
    }

    fn save(&self, out: &mut Written) -> bool {
        (self.stage as u8).write(out);
        for number in [self.left, self.taken, self.budget, self.stale] {
            number.write(out);
        }
        self.bounded.save(out) && self.reduced.save(out) && self.sampled.save(out)
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        self.stage = match u8::read(input) {
            Some(0) => Stage::Bounded,
            Some(1) => Stage::Reduced,
            Some(2) => Stage::Sampled,
            _ => return false,
        };
        let numbers = [
            &mut self.left,
            &mut self.taken,
            &mut self.budget,
            &mut self.stale,
        ];
        for number in numbers {
            let Some(value) = Stored::read(input) else {
                return false;
            };
            *number = value;
        }
        self.bounded.load(input) && self.reduced.load(input) && self.sampled.load(input)
    }

    fn progress(&self) -> Progress {
        let bounded = self.bounded.progress();
        Progress {
            complete: bounded.complete || self.reduced.progress().complete,
            ..bounded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Act};
    use super::*;

    #[test]
    fn what_is_beyond_the_bound_is_seen_without_one() {
        let program = vec![vec![Act::Add(0); 5]; 2];
        let mut search = Auto::new(1, 1000, 0, Part::WHOLE);
        let explored = model::explore(&program, &mut search);
        assert_eq!(explored.graphs.len(), 252);
        assert_eq!(search.name(), "dpor");
        let progress = search.progress();
        assert_eq!(
            (progress.bound_completed, progress.complete),
            (Some(1), true)
        );
    }

    #[test]
    fn what_is_too_much_is_sampled_with_the_rest_of_the_budget() {
        let program = vec![vec![Act::Add(0); 5]; 3];
        let mut search = Auto::new(1, 1000, 0, Part::WHOLE);
        let explored = model::explore(&program, &mut search);
        assert_eq!(explored.executions, 1000);
        assert!(!search.progress().complete);
    }

    #[test]
    fn what_would_come_to_no_end_leaves_its_share_to_sampling() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let mut search = Auto::new(8, 2000, 0, Part::WHOLE);
        let mut stages = std::collections::BTreeMap::new();
        while search.begin() {
            let stage = match search.stage {
                Stage::Sampled => "sampled",
                _ => search.name(),
            };
            model::execute(&program, &mut search);
            *stages.entry(stage).or_insert(0) += 1;
        }
        assert!(stages["icb"] < 1000, "{stages:?}");
        assert!(stages["dpor"] < 300, "{stages:?}");
        assert!(stages["sampled"] > 1000, "{stages:?}");
    }
}
