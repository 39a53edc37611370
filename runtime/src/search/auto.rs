//! `auto`: what suits most tests.
//!
//! First `icb`, so that a failure has the fewest preemptions and what is finished
//! is a guarantee; then `dpor`, which sees all there is to see if it comes to an
//! end; then strategies that sample, in turn, as long as they find anything new.

use super::{
    ChoicePoint, Divergence, Dpor, Ended, Icb, Part, Pct, Portfolio, Pos, Progress, Random, Surw,
};
use super::{SchedulingPoint, Share, Stored, Strategy};
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

/// Sampling goes on for so many schedules at least after it found anything new, and
/// for half as many as it has taken.
const PATIENCE: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Bounded,
    Reduced,
    Sampled,
}

/// The search.
pub(crate) struct Auto {
    stage: Stage,
    /// So many schedules of this stage are left.
    left: u64,
    /// Schedules left to all stages.
    budget: u64,
    /// Schedules that were sampled, and those since one of them was new.
    samples: u64,
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
            budget,
            samples: 0,
            stale: 0,
            bounded: Icb::new(preemptions, budget).of_part(part),
            part,
            reduced: Dpor::new(),
            sampled: Portfolio::new(members),
        }
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
            let is_stale = self.stale >= PATIENCE.max(self.samples / 2);
            if self.left > 0 && !is_stale && self.current().begin() {
                self.left -= 1;
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
            self.samples += 1;
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

    fn save(&self, out: &mut EngineVec<u8>) -> bool {
        (self.stage as u8).write(out);
        for number in [self.left, self.budget, self.samples, self.stale] {
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
            &mut self.budget,
            &mut self.samples,
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
}
