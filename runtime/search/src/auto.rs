//! `auto`: the default strategy, a sequence of `icb`, samplers, `delay` and `dpor`.
//!
//! 1. The first schedules of `icb`. A small test has no more schedules than these.
//! 2. Some schedules of each sampling strategy. Often any one of many different preemptions shows a
//!    bug. `icb` may need thousands of schedules until it tries one of them; a sampler needs only a
//!    few.
//! 3. The rest of `icb`: a finished bound is a guarantee.
//! 4. `delay`, if `icb` finished no bound. Many tasks that wait for each other have too many
//!    schedules without preemptions, because `icb` switches freely if the task blocks or yields.
//!    In `delay` each deviation from the cyclic order of the tasks costs a delay, so that small
//!    bounds can be finished.
//! 5. `dpor`, which covers the whole space if it finishes.
//! 6. The sampling strategies again, as long as they find new happens-before graphs.
//!
//! `portfolio.rs` chooses the next sampling strategy.
//!
//! In a test that observes its states, samples and `icb` alternate in place of points 1 to 3, unless
//! the test is small: see `new_state_rate.rs`.
//!
//! `icb`, `delay` and `dpor` end early if an estimate of their remaining schedules shows that they
//! will not finish. Then sampling is a better use of the rest of the budget.

use super::new_state_rate::Turns;
use super::{
    ChoicePoint, Delay, Divergence, Dpor, Ended, Icb, Part, Pct, Portfolio, Pos, Progress, Random,
    Surw,
};
use super::{SchedulingPoint, Share, Strategy};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::codec::codec;
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};

/// The number of schedules of `icb` that come first.
const FIRST: u64 = 32;
/// The number of schedules of the opening: the samples after the first schedules of `icb`. Each
/// sampling strategy has an equal share of them.
const OPENING: u64 = 128;
/// The opening may spend `1 / OPENING_SHARE` of the budget of all stages.
const OPENING_SHARE: u64 = 8;
/// The opening (the samples after the first schedules of `icb`) ends if its last schedules had no new
/// happens-before graph: as many as this number, plus half the number of its schedules with a new
/// graph.
const OPENING_PATIENCE: u64 = 8;

/// The sampling at the end of the search continues after its last new happens-before graph: for at
/// least this number of schedules, and for at least half the number of its schedules so far.
const PATIENCE: u64 = 1_000;

/// The estimates of `icb` and `dpor` are read once in this number of schedules.
const LOOK: u64 = 64;
/// An estimate of the remaining schedules is trusted if the number of schedules that were run is at
/// least `1 / TRUSTED` of the number that the budget still allows.
const TRUSTED: f64 = 8.0;
/// `icb` abandons a bound only if the estimated number of its remaining schedules is more than
/// `DOUBT` times the number that the budget still allows. A finished bound is a guarantee, and so
/// worth a doubtful attempt.
const DOUBT: f64 = 8.0;

/// `delay` may spend `1 / DELAY_SHARE` of the budget that is left.
const DELAY_SHARE: u64 = 4;

/// The weights of the sampling strategies `pct`, `pos`, `surw` and `random`. The number of
/// schedules of each strategy also depends on its rate of new happens-before graphs.
const WEIGHTS: [f64; 4] = [1.0, 6.0, 2.0, 1.0];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Bounded,
    Reduced,
    Sampled,
    /// The samples after the first schedules of `Bounded`, which continues after them.
    Opening,
    Delayed,
    /// Sampling between two slices of `Bounded`.
    Between,
}

/// The opening: the samples after the first schedules of `icb`.
#[derive(Clone, Copy)]
struct Opening {
    /// The opening has not begun, or has not ended.
    is_ahead: bool,
    /// The number of schedules that it may still run.
    schedules: u64,
    /// The rest of its budget, in the unit of [`spent`](Strategy::spent).
    cost: u64,
    /// The number of its schedules with a new happens-before graph.
    fresh: u64,
    /// The number of its schedules since the last one with a new happens-before graph.
    stale: u64,
}

codec!(Opening {
    is_ahead,
    schedules,
    cost,
    fresh,
    stale,
});

impl Opening {
    /// An opening for stages that share `budget`.
    fn new(budget: u64, part: Part) -> Self {
        Self {
            // If several parts share one space, one opening is enough.
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
pub struct Auto {
    stage: Stage,
    opening: Opening,
    turns: Turns,
    /// The remaining budget of the current stage, the cost of its schedules so far, and their
    /// number.
    left: u64,
    spent: u64,
    taken: u64,
    /// The remaining budget of all stages.
    budget: u64,
    /// The number of schedules of the last stage (`Sampled`) since its last schedule with a new
    /// happens-before graph.
    stale: u64,
    bounded: Icb,
    /// The part of the space that this search explores. The spaces of `delay` and `dpor` cannot be
    /// divided: only the first part explores them.
    part: Part,
    /// The largest number of delays that `delay` explores. It equals the largest preemption bound.
    most_delays: u32,
    delayed: Delay,
    reduced: Dpor,
    sampled: Portfolio,
}

impl Auto {
    /// A search of `part` of the space. `icb` and `delay` explore bounds up to `preemptions`, and
    /// queue at most `keep` schedules of each bound. All stages share `budget`, in the unit of
    /// [`spent`](Strategy::spent).
    pub fn new(preemptions: u32, budget: u64, keep: u64, seed: u64, part: Part) -> Self {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Pct::new(seed), EngineMemory));
        members.push(Box::new_in(Pos::new(seed.wrapping_add(1)), EngineMemory));
        members.push(Box::new_in(Surw::new(seed.wrapping_add(2)), EngineMemory));
        members.push(Box::new_in(Random::new(seed.wrapping_add(3)), EngineMemory));
        Self {
            stage: Stage::Bounded,
            opening: Opening::new(budget, part),
            turns: Turns::NEW,
            // A quarter is reserved for the later stages, in case the bounds take too long to finish.
            left: budget - budget / 4,
            spent: 0,
            taken: 0,
            budget,
            stale: 0,
            bounded: Icb::new(preemptions, keep).of_part(part),
            part,
            most_delays: preemptions,
            delayed: Delay::new(keep),
            reduced: Dpor::new(),
            sampled: Portfolio::weighted(members, &WEIGHTS),
        }
    }

    /// Whether the search should leave the current stage: the stage is over, or an estimate shows
    /// that it cannot finish within its budget.
    fn is_hopeless(&self) -> bool {
        let left = self.schedules_left();
        let is_late = |taken: u64| taken as f64 >= left / TRUSTED;
        match self.stage {
            Stage::Opening => self.opening.is_over(),
            Stage::Sampled => self.stale >= PATIENCE.max(self.taken / 2),
            Stage::Delayed => self.delayed.new_bound().is_some_and(|(delays, schedules)| {
                delays > self.most_delays || schedules as f64 > left
            }),
            Stage::Between => false,
            _ if !self.taken.is_multiple_of(LOOK) => false,
            Stage::Bounded => {
                is_late(self.bounded.taken_of_bound())
                    && self.bounded.rest_of_bound() > left * DOUBT
            }
            // No `DOUBT` is needed: the estimate mostly grows during the search, and hardly ever
            // shrinks.
            Stage::Reduced => is_late(self.taken) && self.rest_of_space() > left,
        }
    }

    /// The approximate number of schedules that the rest of the budget allows, if each one costs as
    /// much as the earlier ones of this stage.
    fn schedules_left(&self) -> f64 {
        let (left, taken, spent) = (self.left as f64, self.taken as f64, self.spent as f64);
        if self.spent == 0 {
            left
        } else {
            left * taken / spent
        }
    }

    /// Begins the opening (the samples after the first schedules of `icb`) when these schedules
    /// have run, and ends the opening when it is over.
    fn open(&mut self) {
        // If the test observes its states, `icb` alternates with samples anyway.
        self.opening.is_ahead &= !self.turns.observes;
        if self.opening.is_ahead && self.stage == Stage::Bounded && self.taken == FIRST {
            self.stage = Stage::Opening;
        }
        if self.stage == Stage::Opening && self.opening.is_over() {
            self.opening.is_ahead = false;
            self.sampled.next_turn();
            self.stage = Stage::Bounded;
        }
    }

    /// Whether `icb` may finish with its first schedules, as far as its queues show.
    fn is_small(&self) -> bool {
        self.taken + self.bounded.queued() < FIRST
    }

    /// Switches between `icb` and samples, if the test observes its states and the current slice
    /// has ended.
    fn take_turns(&mut self) {
        let is_sample = match self.stage {
            Stage::Bounded if self.opening.is_ahead || self.is_small() => return,
            Stage::Bounded if self.part.is_first() => false,
            Stage::Between => true,
            _ => return,
        };
        if self.left == 0 {
            self.stage = Stage::Bounded;
        } else if self.turns.observes {
            self.stage = if self.turns.next_is_sample(is_sample) {
                Stage::Between
            } else {
                Stage::Bounded
            };
        }
    }

    /// An estimate of the remaining schedules of `dpor`.
    fn rest_of_space(&self) -> f64 {
        let (taken, explored) = (self.taken as f64, self.reduced.explored());
        explored.map_or(f64::INFINITY, |explored| taken / explored - taken)
    }

    #[inline]
    fn current(&mut self) -> &mut dyn Strategy {
        match self.stage {
            Stage::Bounded => &mut self.bounded,
            Stage::Delayed => &mut self.delayed,
            Stage::Reduced => &mut self.reduced,
            Stage::Opening | Stage::Between | Stage::Sampled => &mut self.sampled,
        }
    }

    fn running(&self) -> &dyn Strategy {
        match self.stage {
            Stage::Bounded => &self.bounded,
            Stage::Delayed => &self.delayed,
            Stage::Reduced => &self.reduced,
            Stage::Opening | Stage::Between | Stage::Sampled => &self.sampled,
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
        self.take_turns();
        if self.stage == Stage::Between {
            return self.sampled.begin();
        }
        loop {
            if self.stage == Stage::Delayed {
                self.delayed.advance();
            }
            // The last stage may exceed its budget: the explorer ends the search.
            let may_spend = self.left > 0 || self.stage == Stage::Sampled;
            if may_spend && !self.is_hopeless() && self.current().begin() {
                self.taken += 1;
                return true;
            }
            if self.progress().complete {
                return false;
            }
            (self.stage, self.left) = match self.stage {
                Stage::Bounded if !self.part.is_first() => (Stage::Sampled, self.budget),
                Stage::Bounded if self.bounded.progress().bound_completed.is_none() => {
                    (Stage::Delayed, self.budget / DELAY_SHARE)
                }
                Stage::Bounded | Stage::Delayed => (Stage::Reduced, self.budget / 2),
                Stage::Reduced => (Stage::Sampled, self.budget),
                Stage::Opening | Stage::Between | Stage::Sampled => return false,
            };
            (self.taken, self.spent) = (0, 0);
        }
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        match self.stage {
            Stage::Bounded => self.bounded.choose_task(point),
            Stage::Delayed => self.delayed.choose_task(point),
            Stage::Reduced => self.reduced.choose_task(point),
            Stage::Opening | Stage::Between | Stage::Sampled => self.sampled.choose_task(point),
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
            Stage::Bounded | Stage::Between | Stage::Delayed | Stage::Reduced => None,
        };
        if let Some(stale) = stale {
            *stale = if execution.is_new { 0 } else { *stale + 1 };
        }
        if self.stage == Stage::Opening {
            self.opening.fresh += u64::from(execution.is_new);
        }
        self.current().end(execution);
    }

    fn observe(&mut self, is_new: bool) {
        let is_sample = matches!(self.stage, Stage::Between | Stage::Sampled);
        self.turns.count(is_sample, is_new);
        if is_sample {
            self.sampled.observe(is_new);
        }
    }

    fn spent(&mut self, cost: u64) {
        self.budget = self.budget.saturating_sub(cost);
        // The cost of `Opening` and `Between` reduces the budget of `Bounded`, but is not a cost of
        // its schedules.
        if self.stage == Stage::Opening {
            self.opening.cost = self.opening.cost.saturating_sub(cost);
        } else if self.stage != Stage::Between {
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

    fn save(&self, out: &mut Checkpoint) -> bool {
        (self.stage as u8).write(out);
        self.opening.write(out);
        self.turns.write(out);
        for number in [self.left, self.spent, self.taken, self.budget, self.stale] {
            number.write(out);
        }
        self.bounded.save(out)
            && self.delayed.save(out)
            && self.reduced.save(out)
            && self.sampled.save(out)
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        self.stage = match u8::read(input) {
            Some(0) => Stage::Bounded,
            Some(1) => Stage::Reduced,
            Some(2) => Stage::Sampled,
            Some(3) => Stage::Opening,
            Some(4) => Stage::Delayed,
            Some(5) => Stage::Between,
            _ => return false,
        };
        let (Some(opening), Some(turns)) = (Codec::read(input), Codec::read(input)) else {
            return false;
        };
        (self.opening, self.turns) = (opening, turns);
        let numbers = [
            &mut self.left,
            &mut self.spent,
            &mut self.taken,
            &mut self.budget,
            &mut self.stale,
        ];
        for number in numbers {
            let Some(value) = Codec::read(input) else {
                return false;
            };
            *number = value;
        }
        self.bounded.load(input)
            && self.delayed.load(input)
            && self.reduced.load(input)
            && self.sampled.load(input)
    }

    fn progress(&self) -> Progress {
        let bounded = self.bounded.progress();
        let delayed = self.delayed.progress();
        Progress {
            complete: bounded.complete || delayed.complete || self.reduced.progress().complete,
            delays_completed: delayed.delays_completed,
            ..bounded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Act};
    use super::*;

    #[test]
    fn a_failure_beyond_the_bound_is_found_without_a_bound() {
        let program = vec![vec![Act::Add(0); 5]; 2];
        let mut search = Auto::new(1, 1000, 1000, 0, Part::WHOLE);
        let explored = testing::explore(&program, &mut search);
        assert_eq!(explored.graphs.len(), 252);
        assert_eq!(search.name(), "dpor");
        let progress = search.progress();
        assert_eq!(
            (progress.bound_completed, progress.complete),
            (Some(1), true)
        );
    }

    #[test]
    fn a_program_that_is_too_large_is_sampled_with_the_rest_of_the_budget() {
        let program = vec![vec![Act::Add(0); 5]; 3];
        let mut search = Auto::new(1, 1000, 1000, 0, Part::WHOLE);
        for _ in 0..1000 {
            assert!(search.begin());
            testing::execute(&program, &mut search);
        }
        assert!(search.stage == Stage::Sampled && !search.progress().complete);
    }

    #[test]
    fn a_stage_that_would_not_end_leaves_its_share_to_sampling() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let mut search = Auto::new(8, 2000, 2000, 0, Part::WHOLE);
        let mut stages = std::collections::BTreeMap::new();
        while search.begin() {
            let stage = match search.stage {
                Stage::Sampled => "sampled",
                Stage::Opening => "opening",
                _ => search.name(),
            };
            testing::execute(&program, &mut search);
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
            testing::execute(&program, &mut search);
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
    fn switches_out_of_turn_are_bounded_where_no_bound_of_preemptions_can_be_finished() {
        let program = vec![[Act::Add(0), Act::GiveWay].repeat(5); 6];
        let mut search = Auto::new(2, 20_000, 20_000, 0, Part::WHOLE);
        while search.budget > 0 && search.begin() {
            testing::execute(&program, &mut search);
        }
        let progress = search.progress();
        assert_eq!(progress.bound_completed, None);
        assert!(progress.delays_completed >= Some(1), "{progress:?}");
    }

    #[test]
    fn a_test_that_observes_its_states_is_sampled_while_samples_find_new_ones() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let mut search = Auto::new(2, 1_000, 1_000, 0, Part::WHOLE);
        let mut samples = 0;
        for _ in 0..200 {
            assert!(search.begin());
            let is_sample = search.stage == Stage::Between;
            testing::execute(&program, &mut search);
            search.observe(is_sample);
            samples += u32::from(is_sample);
        }
        assert!(samples > 120, "{samples}");
        // If samples find no new state either, `icb` finishes the bound.
        let program = vec![vec![Act::Add(0); 3]; 2];
        let mut search = Auto::new(4, 1_000, 1_000, 0, Part::WHOLE);
        while search.begin() {
            testing::execute(&program, &mut search);
            search.observe(false);
        }
        assert!(search.progress().complete);
    }

    #[test]
    fn a_small_space_is_explored_without_samples() {
        let program = vec![vec![Act::Add(0); 2]; 2];
        let mut search = Auto::new(4, 100_000, 100_000, 0, Part::WHOLE);
        while search.begin() {
            assert_eq!(search.name(), "icb");
            testing::execute(&program, &mut search);
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
    fn stages_share_the_cost_of_schedules() {
        let program = vec![vec![Act::Add(0); 9]; 4];
        let (mut cheap, mut dear) = (
            Auto::new(8, 2_000, 2_000, 0, Part::WHOLE),
            Auto::new(8, 2_000_000, 2_000, 0, Part::WHOLE),
        );
        for _ in 0..2_000 {
            assert!(cheap.begin() && dear.begin());
            assert!(cheap.stage == dear.stage && cheap.name() == dear.name());
            testing::execute(&program, &mut cheap);
            testing::execute(&program, &mut dear);
            // `testing::execute` has already charged a cost of 1.
            dear.spent(999);
        }
        assert!(cheap.stage == Stage::Sampled);
    }
}
