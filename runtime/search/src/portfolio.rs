//! Several sampling strategies that share a budget and alternate in slices, because no strategy is
//! the best on all programs (Agarwal and others, ASE'21, also alternate among strategies). This file
//! decides the length of a slice and the next strategy. `harness/explore/next_strategies.rs` and
//! `auto` choose the members.

use super::new_state_rate::Finds;
use super::{ChoicePoint, Divergence, Ended, Progress, SchedulingPoint, Strategy};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};

/// The number of schedules of a slice. After a slice, the next strategy continues.
const SLICE: u32 = 100;
/// The number of schedules of a slice in a test that observes its states.
const SHORT_SLICE: u32 = 2;

/// One of the strategies.
struct Member {
    search: Box<dyn Strategy, EngineMemory>,
    /// The relative number of its slices, if all strategies find new graphs at the same rate.
    weight: f64,
    /// The sum of the costs of its slices so far, and of a first slice in which each schedule would
    /// be new, divided by the weight. The cost of a slice is the reciprocal of its rate of new
    /// graphs. If the test observes its states, it is [`Finds::cost`]. Without
    /// [adaptation](Portfolio::adapts), it is 1.
    cost: f64,
    /// The member's rate of new states, in a test that observes its states.
    finds: Finds,
}

/// Sampling strategies that alternate in slices. They end when one of them has run all schedules.
pub struct Portfolio {
    members: EngineVec<Member>,
    /// Whether strategies that find fewer new graphs have fewer slices.
    adapts: bool,
    /// The index of the current strategy.
    turn: usize,
    /// The number of schedules of this slice, and the number of those with a new graph.
    taken: u32,
    fresh: u32,
    /// Whether the test observes its states.
    observes: bool,
}

impl Portfolio {
    /// A portfolio of `members` with equal numbers of slices. There must be at least one member.
    pub fn new(members: EngineVec<Box<dyn Strategy, EngineMemory>>) -> Self {
        Self {
            adapts: false,
            ..Self::weighted(members, &[])
        }
    }

    /// A portfolio of `members` in which members with larger weights, and members that find more
    /// new graphs, have more slices. If `weights` is too short, the other members have the weight
    /// 1.
    pub fn weighted(members: EngineVec<Box<dyn Strategy, EngineMemory>>, weights: &[f64]) -> Self {
        let weights = weights.iter().copied().chain(core::iter::repeat(1.0));
        let mut all = engine_vec();
        all.extend(
            members
                .into_iter()
                .zip(weights)
                .map(|(search, weight)| Member {
                    search,
                    weight,
                    cost: 1.0 / weight,
                    finds: Finds::NONE,
                }),
        );
        let mut portfolio = Self {
            members: all,
            adapts: true,
            turn: 0,
            taken: 0,
            fresh: 0,
            observes: false,
        };
        portfolio.next_turn();
        portfolio
    }

    /// The number of schedules of a slice.
    fn slice(&self) -> u32 {
        if self.observes { SHORT_SLICE } else { SLICE }
    }

    /// Ends the slice. The next one goes to the member with the least cost.
    fn end_turn(&mut self) {
        let member = &mut self.members[self.turn];
        let cost = if !self.adapts {
            1.0
        } else if self.observes {
            member.finds.cost()
        } else {
            f64::from(SLICE + 1) / f64::from(self.fresh + 1)
        };
        member.cost += cost / member.weight;
        self.next_turn();
    }

    /// As [`Strategy::begin`], but first switches to the next member of the list, whatever its
    /// cost. Only for members that never finish.
    pub(super) fn begin_next(&mut self) -> bool {
        self.turn = (self.turn + 1) % self.members.len();
        self.member().begin()
    }

    /// Begins a slice of the member with the least cost.
    pub(super) fn next_turn(&mut self) {
        let costs = self.members.iter().map(|member| member.cost).enumerate();
        let least = costs.min_by(|a, b| a.1.total_cmp(&b.1));
        self.turn = least.map_or(0, |(place, _)| place);
        (self.taken, self.fresh) = (0, 0);
    }

    #[inline]
    fn member(&mut self) -> &mut dyn Strategy {
        &mut *self.members[self.turn].search
    }
}

impl Strategy for Portfolio {
    fn name(&self) -> &'static str {
        self.members[self.turn].search.name()
    }

    fn begin(&mut self) -> bool {
        if self.taken >= self.slice() {
            self.end_turn();
        }
        while !self.member().begin() {
            if self.members.len() == 1 || self.progress().complete {
                return false;
            }
            self.members.remove(self.turn);
            self.next_turn();
        }
        self.taken += 1;
        true
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        self.member().choose_task(point)
    }

    #[inline]
    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.member().choose_outcome(point)
    }

    fn retry(&mut self) {
        self.member().retry();
    }

    fn end(&mut self, execution: &Ended<'_>) {
        self.fresh += u32::from(execution.is_new);
        self.member().end(execution);
    }

    fn observe(&mut self, is_new: bool) {
        self.observes = true;
        self.members[self.turn].finds.count(is_new);
    }

    fn wants_trace(&self) -> bool {
        self.members[self.turn].search.wants_trace()
    }

    fn diverged(&self) -> bool {
        self.members[self.turn].search.diverged()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.members[self.turn].search.divergence()
    }

    fn explored(&self) -> Option<f64> {
        // The members are taken to be independent: a schedule that one member has not run is as
        // likely to be run by another member as any other schedule.
        let seen = self
            .members
            .iter()
            .filter_map(|member| member.search.explored());
        Some(1.0 - seen.map(|part| 1.0 - part).product::<f64>())
    }

    fn progress(&self) -> Progress {
        self.members[self.turn].search.progress()
    }

    fn save(&self, out: &mut Checkpoint) -> bool {
        self.turn.write(out);
        self.taken.write(out);
        self.fresh.write(out);
        self.observes.write(out);
        self.members.len().write(out);
        self.members.iter().all(|member| {
            member.search.name().write(out);
            member.cost.write(out);
            member.finds.write(out);
            member.search.save(out)
        })
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        let turn = (Codec::read(input), Codec::read(input));
        let (Some(turn), Some(taken)) = turn else {
            return false;
        };
        let (Some(fresh), Some(observes)) = (Codec::read(input), Codec::read(input)) else {
            return false;
        };
        let Some(count) = usize::read(input) else {
            return false;
        };
        (self.turn, self.taken, self.fresh, self.observes) = (turn, taken, fresh, observes);
        for place in 0..count {
            let name = <&str>::read(input);
            // Members that have finished are not in the saved state.
            while self
                .members
                .get(place)
                .is_some_and(|m| Some(m.search.name()) != name)
            {
                self.members.remove(place);
            }
            let Some(member) = self.members.get_mut(place) else {
                return false;
            };
            let (Some(cost), Some(finds)) = (Codec::read(input), Codec::read(input)) else {
                return false;
            };
            (member.cost, member.finds) = (cost, finds);
            if !member.search.load(input) {
                return false;
            }
        }
        self.members.truncate(count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Act};
    use super::super::{Delay, Pct, Pos};
    use super::*;

    #[test]
    fn strategies_take_turns() {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Pct::new(0), EngineMemory));
        members.push(Box::new_in(Pos::new(1), EngineMemory));
        let mut search = Portfolio::new(members);
        let program = vec![vec![Act::Add(0)]; 2];
        let mut turns = Vec::new();
        for _ in 0..3 * SLICE {
            assert!(search.begin());
            turns.push(search.name());
            testing::execute(&program, &mut search);
        }
        let slice = SLICE as usize;
        assert!(turns[..slice].iter().all(|&name| name == "pct"));
        assert!(turns[slice..2 * slice].iter().all(|&name| name == "pos"));
        assert!(turns[2 * slice..].iter().all(|&name| name == "pct"));
    }

    #[test]
    fn a_strategy_that_ends_early_leaves_the_rest_to_the_others() {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Delay::new(1), EngineMemory));
        members.push(Box::new_in(Pos::new(1), EngineMemory));
        let mut search = Portfolio::new(members);
        let program = vec![vec![Act::Add(0); 3]; 2];
        for _ in 0..2 * SLICE {
            assert!(search.begin());
            testing::execute(&program, &mut search);
        }
        assert_eq!(search.name(), "pos");
        assert!(!search.progress().complete);
    }

    #[test]
    fn weight_and_news_give_turns() {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Pct::new(0), EngineMemory));
        members.push(Box::new_in(Pos::new(1), EngineMemory));
        let mut search = Portfolio::weighted(members, &[1.0, 3.0]);
        let mut turns = |news: &[&str]| {
            let mut pos = 0;
            for _ in 0..40 * SLICE {
                assert!(search.begin());
                pos += u32::from(search.name() == "pos");
                search.fresh += u32::from(news.contains(&search.name()));
            }
            pos / SLICE
        };
        assert_eq!(turns(&["pct", "pos"]), 30);
        assert!(turns(&["pct"]) <= 5, "it repeats itself");
    }
}
