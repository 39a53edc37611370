//! `auto`: what suits most tests.
//!
//! First the schedules that `icb` begins with: they are all there is of a small test. Then
//! some of each strategy that samples: a bug that one preemption among many shows takes
//! `icb` thousands of schedules, and a sampler a few. Then `icb` goes on, so that what is
//! finished is a guarantee; then `dpor`, which sees all there is to see if it comes to an
//! end; then strategies that sample, as long as they find anything new. `icb` and `dpor`
//! are left early where, by an estimate of what they have still to explore, they come
//! to no end: what they would take is better sampled.

use super::{
    ChoicePoint, Divergence, Dpor, Ended, Icb, Part, Pct, Portfolio, Pos, Progress, Random, Surw,
};
use super::{SchedulingPoint, Share, Strategy};
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};
use crate::base::stored::Stored;
use crate::base::stored::stored;
use crate::base::written::Written;

/// `icb` begins with so many schedules.
const FIRST: u64 = 32;
/// Then so many are sampled: as many by each strategy.
const OPENING: u64 = 128;
/// Of what all stages may spend, these take at most one part in so many.
const OPENING_SHARE: u64 = 8;
/// They end once so many in a row were not new, and half as many as were.
const OPENING_PATIENCE: u64 = 8;

/// Sampling goes on for so many schedules at least after it found anything new, and
/// for half as many as it has taken.
const PATIENCE: u64 = 1_000;

/// Estimates are looked at after so many schedules, again and again.
const LOOK: u64 = 64;
/// They are trusted after a part of what is left: one in so many schedules.
const TRUSTED: f64 = 8.0;
/// A bound may have so many times less left than it seems: it is a promise.
const DOUBT: f64 = 8.0;

/// How much sampling is each strategy's, before it shows how much it finds.
const WEIGHTS: [f64; 4] = [1.0, 6.0, 2.0, 1.0];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Bounded,
    Reduced,
    Sampled,
    /// Sampled, after the first schedules of `Bounded`, which goes on then.
    Opening,
}

/// The samples near the beginning.
#[derive(Clone, Copy)]
struct Opening {
    /// They are still to come, or under way.
    is_ahead: bool,
    /// So many more schedules, which may cost so much more.
    schedules: u64,
    cost: u64,
    /// How many of them were new, and were not since one was.
    fresh: u64,
    stale: u64,
}

stored!(Opening {
    is_ahead,
    schedules,
    cost,
    fresh,
    stale,
});

impl Opening {
    /// Where all stages may spend `budget`.
    fn new(budget: u64, part: Part) -> Self {
        Self {
            // Several parts of one space need it once.
            is_ahead: part.is_first(),
            schedules: OPENING,
            cost: budget / OPENING_SHARE,
            fresh: 0,
            stale: 0,
        }
    }

    fn is_over(&self) -> bool {
        self.schedules == 0 || self.cost == 0 || self.stale >= OPENING_PATIENCE + self.fresh / 2
    }
}

/// The search.
pub(crate) struct Auto {
    stage: Stage,
    opening: Opening,
    /// What this stage may still spend, and has spent: on so many schedules.
    left: u64,
    spent: u64,
    taken: u64,
    /// What all stages may still spend.
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
    /// A search that finishes up to `preemptions` preemptions first. Its stages share
    /// `budget`, in whatever it [spends](Strategy::spent); `keep` schedules of a bound are
    /// worth keeping.
    pub(crate) fn new(preemptions: u32, budget: u64, keep: u64, seed: u64, part: Part) -> Self {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Pct::new(seed), EngineMemory));
        members.push(Box::new_in(Pos::new(seed.wrapping_add(1)), EngineMemory));
        members.push(Box::new_in(Surw::new(seed.wrapping_add(2)), EngineMemory));
        members.push(Box::new_in(Random::new(seed.wrapping_add(3)), EngineMemory));
        Self {
            stage: Stage::Bounded,
            opening: Opening::new(budget, part),
            // Where bounds take too long to finish, sampling is to have its share.
            left: budget - budget / 4,
            spent: 0,
            taken: 0,
            budget,
            stale: 0,
            bounded: Icb::new(preemptions, keep).of_part(part),
            part,
            reduced: Dpor::new(),
            sampled: Portfolio::weighted(members, &WEIGHTS),
        }
    }

    /// Whether the stage is not worth going on with.
    fn is_hopeless(&self) -> bool {
        let left = self.schedules_left();
        let is_late = |taken: u64| taken as f64 >= left / TRUSTED;
        match self.stage {
            Stage::Opening => self.opening.is_over(),
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

    /// About how many schedules the stage has left, if they go on to cost what they did.
    fn schedules_left(&self) -> f64 {
        let (left, taken, spent) = (self.left as f64, self.taken as f64, self.spent as f64);
        if self.spent == 0 {
            left
        } else {
            left * taken / spent
        }
    }

    /// Enters or leaves the samples near the beginning when it is time.
    fn open(&mut self) {
        if self.opening.is_ahead && self.stage == Stage::Bounded && self.taken == FIRST {
            self.stage = Stage::Opening;
        }
        if self.stage == Stage::Opening && self.opening.is_over() {
            self.opening.is_ahead = false;
            self.sampled.next_turn();
            self.stage = Stage::Bounded;
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
            Stage::Opening | Stage::Sampled => &mut self.sampled,
        }
    }

    fn running(&self) -> &dyn Strategy {
        match self.stage {
            Stage::Bounded => &self.bounded,
            Stage::Reduced => &self.reduced,
            Stage::Opening | Stage::Sampled => &self.sampled,
        }
    }
}

impl Strategy for Auto {
    fn name(&self) -> &'static str {
        self.running().name()
    }

    fn begin(&mut self) -> bool {
        self.open();
        if self.stage == Stage::Opening {
            self.opening.schedules -= 1;
            return self.sampled.begin_next();
        }
        loop {
            // The last stage goes on as long as the search may.
            let may_spend = self.left > 0 || self.stage == Stage::Sampled;
            if may_spend && !self.is_hopeless() && self.current().begin() {
                self.taken += 1;
                return true;
            }
            if self.progress().complete {
                return false;
            }
            (self.stage, self.left) = match self.stage {
                Stage::Bounded if self.part.is_first() => (Stage::Reduced, self.budget / 2),
                Stage::Bounded | Stage::Reduced => (Stage::Sampled, self.budget),
                Stage::Opening | Stage::Sampled => return false,
            };
            (self.taken, self.spent) = (0, 0);
        }
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        match self.stage {
            Stage::Bounded => self.bounded.choose_task(point),
            Stage::Reduced => self.reduced.choose_task(point),
            Stage::Opening | Stage::Sampled => self.sampled.choose_task(point),
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
        let stale = match self.stage {
            Stage::Sampled => Some(&mut self.stale),
            Stage::Opening => Some(&mut self.opening.stale),
            Stage::Bounded | Stage::Reduced => None,
        };
        if let Some(stale) = stale {
            *stale = if execution.is_new { 0 } else { *stale + 1 };
        }
        if self.stage == Stage::Opening {
            self.opening.fresh += u64::from(execution.is_new);
        }
        self.current().end(execution);
    }

    fn spent(&mut self, cost: u64) {
        self.budget = self.budget.saturating_sub(cost);
        if self.stage == Stage::Opening {
            // The first stage has less left, for no schedule of its own.
            self.opening.cost = self.opening.cost.saturating_sub(cost);
        } else {
            self.spent = self.spent.saturating_add(cost);
        }
        self.left = self.left.saturating_sub(cost);
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
        self.opening.write(out);
        for number in [self.left, self.spent, self.taken, self.budget, self.stale] {
            number.write(out);
        }
        self.bounded.save(out) && self.reduced.save(out) && self.sampled.save(out)
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        self.stage = match u8::read(input) {
            Some(0) => Stage::Bounded,
            Some(1) => Stage::Reduced,
            Some(2) => Stage::Sampled,
            Some(3) => Stage::Opening,
            _ => return false,
        };
        let Some(opening) = Stored::read(input) else {
            return false;
        };
        self.opening = opening;
        let numbers = [
            &mut self.left,
            &mut self.spent,
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
        let mut search = Auto::new(1, 1000, 1000, 0, Part::WHOLE);
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
        let mut search = Auto::new(1, 1000, 1000, 0, Part::WHOLE);
        for _ in 0..1000 {
            assert!(search.begin());
            model::execute(&program, &mut search);
        }
        assert!(search.stage == Stage::Sampled && !search.progress().complete);
    }

    #[test]
    fn what_would_come_to_no_end_leaves_its_share_to_sampling() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let mut search = Auto::new(8, 2000, 2000, 0, Part::WHOLE);
        let mut stages = std::collections::BTreeMap::new();
        while search.begin() {
            let stage = match search.stage {
                Stage::Sampled => "sampled",
                Stage::Opening => "opening",
                _ => search.name(),
            };
            model::execute(&program, &mut search);
            *stages.entry(stage).or_insert(0) += 1;
            if search.budget == 0 {
                break;
            }
        }
        assert_eq!(stages["opening"], 128);
        assert!(stages["icb"] < 1000, "{stages:?}");
        assert!(stages["dpor"] < 300, "{stages:?}");
        assert!(stages["sampled"] > 1000, "{stages:?}");
    }

    #[test]
    fn each_strategy_samples_before_bounds_grow() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let mut search = Auto::new(2, 100_000, 100_000, 0, Part::WHOLE);
        let mut names = Vec::new();
        for _ in 0..=(FIRST + OPENING) {
            assert!(search.begin());
            names.push(search.name());
            model::execute(&program, &mut search);
        }
        let (first, rest) = names.split_at(FIRST as usize);
        assert!(first.iter().all(|&name| name == "icb"));
        let (opening, last) = rest.split_at(OPENING as usize);
        for four in opening.chunks(4) {
            let mut four = four.to_vec();
            four.sort_unstable();
            assert_eq!(four, ["pct", "pos", "random", "surw"]);
        }
        assert_eq!(last, ["icb"]);
    }

    #[test]
    fn a_small_space_is_explored_without_samples() {
        let program = vec![vec![Act::Add(0); 2]; 2];
        let mut search = Auto::new(4, 100_000, 100_000, 0, Part::WHOLE);
        while search.begin() {
            assert_eq!(search.name(), "icb");
            model::execute(&program, &mut search);
        }
        assert!(search.progress().complete);
    }

    #[test]
    fn samples_end_that_are_not_new() {
        let mut search = Auto::new(2, 100_000, 100_000, 0, Part::WHOLE);
        search.opening.fresh = 4;
        for _ in 0..OPENING_PATIENCE + 2 {
            assert!(!search.opening.is_over());
            search.opening.stale += 1;
        }
        assert!(search.opening.is_over());
    }

    #[test]
    fn stages_share_what_schedules_cost() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let (mut cheap, mut dear) = (
            Auto::new(8, 2_000, 2_000, 0, Part::WHOLE),
            Auto::new(8, 2_000_000, 2_000, 0, Part::WHOLE),
        );
        for _ in 0..2_000 {
            assert!(cheap.begin() && dear.begin());
            assert!(cheap.stage == dear.stage && cheap.name() == dear.name());
            model::execute(&program, &mut cheap);
            model::execute(&program, &mut dear);
            // Beside the one that each execution of a model costs.
            dear.spent(999);
        }
        assert!(cheap.stage == Stage::Sampled);
    }
}
