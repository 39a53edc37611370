//! Several sampling strategies that share a budget (Agarwal and others, ASE'21: no
//! one of them is the best on all programs).

use super::{ChoicePoint, Divergence, Ended, Progress, SchedulingPoint, Stored, Strategy};
use crate::platform::memory::{EngineMemory, EngineVec};

/// So many schedules of one strategy, then as many of the next one.
const SLICE: u32 = 100;

/// Strategies that take turns, until one has seen all schedules.
pub(crate) struct Portfolio {
    members: EngineVec<Box<dyn Strategy, EngineMemory>>,
    /// Whose turn it is.
    turn: usize,
    /// Schedules of this turn.
    taken: u32,
}

impl Portfolio {
    /// The `members` in turn, of which there is at least one.
    pub(crate) fn new(members: EngineVec<Box<dyn Strategy, EngineMemory>>) -> Self {
        Self {
            members,
            turn: 0,
            taken: 0,
        }
    }

    #[inline]
    fn member(&mut self) -> &mut dyn Strategy {
        &mut *self.members[self.turn]
    }
}

impl Strategy for Portfolio {
    fn name(&self) -> &'static str {
        self.members[self.turn].name()
    }

    fn begin(&mut self) -> bool {
        if self.taken == SLICE {
            self.turn = (self.turn + 1) % self.members.len();
            self.taken = 0;
        }
        self.taken += 1;
        while !self.member().begin() {
            if self.members.len() == 1 || self.progress().complete {
                return false;
            }
            self.members.remove(self.turn);
            self.turn %= self.members.len();
            self.taken = 1;
        }
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
        self.member().end(execution);
    }

    fn wants_trace(&self) -> bool {
        self.members[self.turn].wants_trace()
    }

    fn diverged(&self) -> bool {
        self.members[self.turn].diverged()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.members[self.turn].divergence()
    }

    fn explored(&self) -> Option<f64> {
        // What one has left is as likely to be seen by another one as the rest.
        let seen = self.members.iter().filter_map(|member| member.explored());
        Some(1.0 - seen.map(|part| 1.0 - part).product::<f64>())
    }

    fn progress(&self) -> Progress {
        self.members[self.turn].progress()
    }

    fn save(&self, out: &mut EngineVec<u8>) -> bool {
        self.turn.write(out);
        self.taken.write(out);
        self.members.len().write(out);
        self.members.iter().all(|member| {
            member.name().write(out);
            member.save(out)
        })
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        let header = (Stored::read(input), Stored::read(input));
        let ((Some(turn), Some(taken)), Some(count)) = (header, usize::read(input)) else {
            return false;
        };
        (self.turn, self.taken) = (turn, taken);
        for place in 0..count {
            let name = <&str>::read(input);
            // Those that have ended are gone.
            while self
                .members
                .get(place)
                .is_some_and(|m| Some(m.name()) != name)
            {
                self.members.remove(place);
            }
            if !self.members.get_mut(place).is_some_and(|m| m.load(input)) {
                return false;
            }
        }
        self.members.truncate(count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Act};
    use super::super::{Delay, Pct, Pos};
    use super::*;
    use crate::platform::memory::engine_vec;

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
            model::execute(&program, &mut search);
        }
        let slice = SLICE as usize;
        assert!(turns[..slice].iter().all(|&name| name == "pct"));
        assert!(turns[slice..2 * slice].iter().all(|&name| name == "pos"));
        assert!(turns[2 * slice..].iter().all(|&name| name == "pct"));
    }

    #[test]
    fn what_ends_before_all_is_seen_leaves_the_rest_to_the_others() {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Delay::new(1), EngineMemory));
        members.push(Box::new_in(Pos::new(1), EngineMemory));
        let mut search = Portfolio::new(members);
        let program = vec![vec![Act::Add(0); 3]; 2];
        for _ in 0..2 * SLICE {
            assert!(search.begin());
            model::execute(&program, &mut search);
        }
        assert_eq!(search.name(), "pos");
        assert!(!search.progress().complete);
    }
}
