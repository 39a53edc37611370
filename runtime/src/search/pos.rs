//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV'18, section 4).
//!
//! Each task's next operation has a random priority, and the highest one is
//! performed. Then the priorities of what the task does next, and of all that races
//! with what it did, are drawn anew; the others stay. So the orders of operations
//! that race are sampled more evenly than by a random walk, which lets a task with
//! little to do before such an operation nearly always win. It has no parameters and
//! needs no profile.
//!
//! So in one execution of four, drawn by lot. In the others a task that is about to
//! write to what it has read waits longer (that is not in the paper): what others write
//! meanwhile it does not know of. A write that finds what was read there again, though
//! much has happened in between, else loses too many draws ever to be sampled.

use super::sampler::{Rule, Sampler};
use super::{Pending, SchedulingPoint};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::rng::Rng;
use crate::execution::{Dependence, Effect, Op, TaskId};

/// What a task does next, and its priority.
#[derive(Clone, Copy)]
struct Event {
    priority: u64,
    /// The last decision that it was an option of; 0 for none.
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

/// A write to what its task has read has so many times less priority, where such wait.
const WAITS: u64 = 4;
/// So many objects a task remembers to have read.
const READ: usize = 8;

/// The objects that a task has read and not written to since; 0 for none.
#[derive(Clone, Copy)]
struct Reads {
    objects: [usize; READ],
    /// Which one is forgotten next.
    oldest: usize,
}

impl Reads {
    const NONE: Self = Self {
        objects: [0; READ],
        oldest: 0,
    };

    /// Notes what the task does.
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

    /// Whether it is a write to something that the task has read.
    #[inline]
    fn precede(&self, pending: Pending) -> bool {
        pending.object != 0
            && pending.op.effect() == Effect::Write
            && self.objects.contains(&pending.object)
    }
}

/// The search.
pub(crate) type Pos = Sampler<Priorities>;

/// The priorities of one execution.
pub(crate) struct Priorities {
    /// What each task does next.
    events: EngineVec<Event>,
    /// Whether what is written to what was read waits.
    waits: bool,
    /// Decisions between tasks in this execution.
    points: u32,
    /// The task chosen last, and what it did.
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
    /// Draws the priority of what `task` does next, if it is not to keep that it has.
    #[inline]
    fn draw(&mut self, rng: &mut Rng, task: TaskId, pending: Pending) {
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
            let waits = self.waits && event.reads.precede(pending);
            event.priority = rng.next() / if waits { WAITS } else { 1 };
        }
    }

    /// Gives what each of the options does a priority.
    #[inline]
    pub(super) fn rank(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) {
        self.points += 1;
        for &task in point.options {
            self.draw(rng, task, (point.pending)(task));
        }
    }

    /// The priority of an option's operation.
    #[inline]
    pub(super) fn priority_of(&self, task: TaskId) -> u64 {
        self.events[task.0 as usize].priority
    }

    /// The option is chosen.
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

    use super::super::model::{self, Act, Program};
    use super::super::{Random, Strategy};
    use super::*;

    const RUNS: u32 = 5000;

    /// How often each order of what races came about.
    fn shares(program: &Program, search: &mut dyn Strategy) -> BTreeMap<model::Graph, f64> {
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

    /// How often `reader`'s exchange comes after six additions, which it then sees.
    fn stale(reader: Vec<Act>) -> f64 {
        let program = vec![reader, vec![Act::Add(0); 6]];
        let mut search = Pos::new(5);
        let mut late = 0;
        for _ in 0..RUNS {
            search.begin();
            let end = model::execute(&program, &mut search).end;
            late += u32::from(end.values()[0] == 100);
        }
        f64::from(late) / f64::from(RUNS)
    }

    #[test]
    fn a_write_to_what_was_read_waits_in_most_executions() {
        // Where the load does not race it comes last once in seven times; where it does,
        // the exchange has to lose most of its draws.
        let own = stale(vec![Act::Load(0), Act::Exchange(0, 6, 100)]);
        let other = stale(vec![Act::Load(1), Act::Exchange(0, 6, 100)]);
        assert!(own > 0.35 && other < 0.19, "{own} {other}");
    }
}
