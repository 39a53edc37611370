//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV'18, section 4).
//!
//! The next operation of each task has a random priority, and the operation with the highest
//! priority is performed. Then new priorities are drawn for the next operation of its task, and
//! for all operations that race with the performed operation. All other operations keep their
//! priorities. So the orders of racing operations are sampled more evenly than by a random walk,
//! in which a task with few steps before such an operation nearly always wins. The strategy has no
//! parameters and needs no profile.
//!
//! One execution in four, chosen at random, follows exactly these rules. The other executions have
//! a further rule that is not in the paper: if a task has read an object, its next write to this
//! object has a lower priority. So other tasks can write to the object in between. Without this
//! rule, the write would almost never come after many operations of other tasks. Some bugs need
//! that: for example, a compare-exchange that succeeds because other tasks changed the value and
//! restored it.

use super::sampler::{Rule, Sampler};
use super::{Pending, SchedulingPoint};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::rng::Rng;
use chess_vocabulary::{Dependence, Effect, Op, TaskId};

/// The next operation of a task, and its priority.
#[derive(Clone, Copy)]
struct Event {
    priority: u64,
    /// The number of the last decision that had the operation as an option; 0 if there was none.
    point: u32,
    pending: Pending,
    reads: Reads,
}

const UNSEEN: Event = Event {
    priority: 0,
    point: 0,
    pending: Pending {
        op: Op::Start,
        object: 0,
    },
    reads: Reads::NONE,
};

/// In three of four executions, the priority of a write is divided by this number if the task has
/// read the object before.
const WAITS: u64 = 4;
/// The number of objects that [`Reads`] remembers for each task.
const READ: usize = 8;

/// The objects that a task has read, and has not written to since. An unused place is 0.
#[derive(Clone, Copy)]
struct Reads {
    objects: [usize; READ],
    /// The index of the place that the next object takes.
    oldest: usize,
}

impl Reads {
    const NONE: Self = Self {
        objects: [0; READ],
        oldest: 0,
    };

    /// Records an operation of the task.
    #[inline]
    fn note(&mut self, done: Pending) {
        let place = self.objects.iter().position(|&one| one == done.object);
        match (done.op.effect(), place) {
            (Effect::Read, None) => {
                self.objects[self.oldest] = done.object;
                self.oldest = (self.oldest + 1) % READ;
            }
            (Effect::Write, Some(place)) => self.objects[place] = 0,
            _ => {}
        }
    }

    /// Whether the operation is a write to an object that the task has read.
    #[inline]
    fn precede(&self, pending: Pending) -> bool {
        pending.object != 0
            && pending.op.effect() == Effect::Write
            && self.objects.contains(&pending.object)
    }
}

/// The search.
pub type Pos = Sampler<Priorities>;

/// The priorities of one execution.
pub struct Priorities {
    /// The next operation of each task.
    events: EngineVec<Event>,
    /// Whether, in this execution, a write has a lower priority if its task has read the object.
    waits: bool,
    /// The number of decisions between tasks in this execution.
    points: u32,
    /// The task that was chosen last, and its operation.
    executed: Option<(TaskId, Pending)>,
}

impl Default for Priorities {
    fn default() -> Self {
        Self {
            events: engine_vec(),
            waits: false,
            points: 0,
            executed: None,
        }
    }
}

impl Priorities {
    /// Draws the priority of the next operation of `task`, unless the operation keeps its priority.
    #[inline]
    fn draw(&mut self, rng: &mut Rng, task: TaskId, pending: Pending) {
        let at = task.0 as usize;
        if at >= self.events.len() {
            self.events.resize(at + 1, UNSEEN);
        }
        let event = &mut self.events[at];
        // If the task was not an option at the last decision, it was blocked, or has run at a
        // point with no other option. Then a new priority is drawn.
        let is_known = event.point + 1 == self.points
            && event.pending == pending
            && self
                .executed
                .is_some_and(|(last, done)| last != task && !races(done, pending));
        event.point = self.points;
        if !is_known {
            event.pending = pending;
            let waits = self.waits && event.reads.precede(pending);
            event.priority = rng.next() / if waits { WAITS } else { 1 };
        }
    }

    /// Gives the next operation of each option a priority.
    #[inline]
    pub(super) fn rank(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) {
        self.points += 1;
        for &task in point.options {
            self.draw(rng, task, (point.pending)(task));
        }
    }

    /// The priority of the next operation of an option.
    #[inline]
    pub(super) fn priority_of(&self, task: TaskId) -> u64 {
        self.events[task.0 as usize].priority
    }

    /// Records that the option was chosen.
    #[inline]
    pub(super) fn perform(&mut self, task: TaskId) {
        let event = &mut self.events[task.0 as usize];
        event.reads.note(event.pending);
        self.executed = Some((task, event.pending));
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

    fn begin(&mut self, rng: &mut Rng) {
        self.events.clear();
        self.waits = rng.below(4) != 0;
        self.points = 0;
        self.executed = None;
    }

    #[inline]
    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        self.rank(rng, point);
        let priority = |&place: &usize| self.priority_of(point.options[place]);
        let chosen = (0..point.options.len()).max_by_key(priority).unwrap_or(0);
        self.perform(point.options[chosen]);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::testing::{self, Act, Program};
    use super::super::{Random, Strategy};
    use super::*;

    const RUNS: u32 = 5000;

    /// The share of the executions that have each order of the racing operations.
    fn shares(program: &Program, search: &mut dyn Strategy) -> BTreeMap<testing::Graph, f64> {
        let mut shares = BTreeMap::new();
        for _ in 0..RUNS {
            search.begin();
            let outcome = testing::execute(program, search);
            *shares.entry(outcome.graph).or_insert(0.0) += 1.0 / f64::from(RUNS);
        }
        shares
    }

    #[test]
    fn an_operation_that_waits_keeps_its_priority() {
        let mut long = vec![Act::Add(1); 10];
        long.push(Act::Add(0));
        let program = vec![long, vec![Act::Add(0)]];
        // The long task comes first if all its eleven priorities, each drawn after the previous
        // step, are higher than the priority of the waiting operation. If the waiting operation
        // has priority x, the probability is (1 - x)^11, so that this happens once in twelve
        // executions. In a random walk it happens once in 2048.
        let waits = shares(&program, &mut Pos::new(3));
        let walks = shares(&program, &mut Random::new(3));
        let least = |shares: &BTreeMap<_, f64>| shares.values().copied().fold(1.0, f64::min);
        let expected = 1.0 / 12.0;
        assert!((least(&waits) - expected).abs() < 0.015, "{waits:?}");
        assert!(least(&walks) < expected / 10.0, "{walks:?}");
    }

    /// The share of executions in which the exchange of `reader` comes after all six additions.
    fn stale(reader: Vec<Act>) -> f64 {
        let program = vec![reader, vec![Act::Add(0); 6]];
        let mut search = Pos::new(5);
        let mut late = 0;
        for _ in 0..RUNS {
            search.begin();
            let end = testing::execute(&program, &mut search).end;
            late += u32::from(end.values()[0] == 100);
        }
        f64::from(late) / f64::from(RUNS)
    }

    #[test]
    fn a_write_to_a_read_value_waits_in_most_executions() {
        // If the load does not race, the exchange comes last in one of seven executions. If the
        // load does race, the exchange must get a lower priority in most of its draws.
        let own = stale(vec![Act::Load(0), Act::Exchange(0, 6, 100)]);
        let other = stale(vec![Act::Load(1), Act::Exchange(0, 6, 100)]);
        assert!(own > 0.35 && other < 0.19, "{own} {other}");
    }
}
