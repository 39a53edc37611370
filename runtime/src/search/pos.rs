//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV'18, section 4).
//!
//! Each task's next operation has a random priority, and the highest one is
//! performed. Then the priorities of what the task does next, and of all that races
//! with what it did, are drawn anew; the others stay. So the orders of operations
//! that race are sampled more evenly than by a random walk, which lets a task with
//! little to do before such an operation nearly always win. It has no parameters and needs no profile.

use super::sampler::{Rule, Sampler};
use super::{Pending, Rng, SchedulingPoint};
use crate::execution::{Dependence, Op, TaskId};
use crate::platform::memory::{EngineVec, engine_vec};

/// What a task does next, and its priority.
#[derive(Clone, Copy)]
struct Event {
    priority: u64,
    /// The last decision that it was an option of; 0 for none.
    point: u32,
    pending: Pending,
}

const UNSEEN: Event = Event {
    priority: 0,
    point: 0,
    pending: Pending {
        op: Op::Start,
        object: 0,
    },
};

/// The search.
pub(crate) type Pos = Sampler<Priorities>;

/// The priorities of one execution.
pub(crate) struct Priorities {
    /// What each task does next.
    events: EngineVec<Event>,
    /// Decisions between tasks in this execution.
    points: u32,
    /// The task chosen last, and what it did.
    executed: Option<(TaskId, Pending)>,
}

impl Default for Priorities {
    fn default() -> Self {
        Self {
            events: engine_vec(),
            points: 0,
            executed: None,
        }
    }
}

impl Priorities {
    /// The priority of what `task` does next.
    #[inline]
    fn priority(&mut self, rng: &mut Rng, task: TaskId, pending: Pending) -> u64 {
        let at = task.0 as usize;
        if at >= self.events.len() {
            self.events.resize(at + 1, UNSEEN);
        }
        let event = &mut self.events[at];
        // One that was no option in between has waited, or ran without a choice.
        let is_known = event.point + 1 == self.points
            && event.pending == pending
            && self
                .executed
                .is_some_and(|(last, done)| last != task && !races(done, pending));
        event.point = self.points;
        if !is_known {
            event.pending = pending;
            event.priority = rng.next();
        }
        event.priority
    }
}

/// Whether two operations are on one object and do not commute.
#[inline]
fn races(one: Pending, other: Pending) -> bool {
    if one.object == 0 || one.object != other.object {
        return false;
    }
    let (one, other) = (one.op.effect(), other.op.effect());
    other.depends(one) == Dependence::Races || one.depends(other) == Dependence::Races
}

impl Rule for Priorities {
    const NAME: &'static str = "pos";

    fn begin(&mut self, _rng: &mut Rng) {
        self.events.clear();
        self.points = 0;
        self.executed = None;
    }

    #[inline]
    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        self.points += 1;
        let (mut chosen, mut highest) = (0, 0);
        for (place, &task) in point.options.iter().enumerate() {
            let priority = self.priority(rng, task, (point.pending)(task));
            if priority > highest {
                (chosen, highest) = (place, priority);
            }
        }
        let task = point.options[chosen];
        self.executed = Some((task, self.events[task.0 as usize].pending));
        chosen
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::model::{self, Act, Program};
    use super::super::{Random, Strategy};
    use super::*;

    const RUNS: u32 = 5000;

    /// How often each order of what races came about.
    fn shares(program: &Program, search: &mut dyn Strategy) -> BTreeMap<Vec<Vec<u32>>, f64> {
        let mut shares = BTreeMap::new();
        for _ in 0..RUNS {
            search.begin();
            let outcome = model::execute(program, search);
            *shares.entry(outcome.graph).or_insert(0.0) += 1.0 / f64::from(RUNS);
        }
        shares
    }

    #[test]
    fn an_operation_that_waits_keeps_its_priority() {
        let mut long = vec![Act::Add(1); 10];
        long.push(Act::Add(0));
        let program = vec![long, vec![Act::Add(0)]];
        // The long task comes first if all its eleven priorities, each drawn when
        // the one before is done, are higher than the one that waits: if this is
        // x, with probability (1 - x)^11; so once in twelve executions. For a
        // random walk it is once in 2048.
        let waits = shares(&program, &mut Pos::new(3));
        let walks = shares(&program, &mut Random::new(3));
        let least = |shares: &BTreeMap<_, f64>| shares.values().copied().fold(1.0, f64::min);
        let expected = 1.0 / 12.0;
        assert!((least(&waits) - expected).abs() < 0.015, "{waits:?}");
        assert!(least(&walks) < expected / 10.0, "{walks:?}");
    }
}
