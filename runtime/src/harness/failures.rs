//! The failures that a search collects when it goes on after the first one.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Ending, Execution, Op, Site, Timers};
use crate::monitor::race::{self, Learnt};
use crate::monitor::{self, Blocked, Failure, Kind, Level};
use crate::search::Decision;

/// So many failures of one test are told from each other.
pub(super) const MOST: usize = 32;

/// A failure besides the first one, in its final words.
pub(crate) struct Found {
    pub(crate) failure: Failure,
    pub(crate) preemptions: u32,
    pub(crate) decisions: EngineVec<Decision>,
    /// When timeouts fire in this schedule, and how many of them fire early.
    pub(crate) timers: Timers,
    pub(crate) early: u32,
    /// What was known of races.
    pub(crate) learnt: Learnt,
}

/// A failure as it was seen.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) failure: Failure,
    end: u64,
    /// What was known of races.
    pub(super) learnt: Learnt,
}

impl Known {
    /// Whether `execution`, which ended in `failure`, ended in this one.
    pub(super) fn is(&self, execution: &Execution, failure: &Failure) -> bool {
        self.failure == *failure && self.end == end_of(execution)
    }

    /// As [`Self::is`], where the values that an assertion compared may be others.
    pub(super) fn is_like(&self, execution: &Execution, failure: &Failure) -> bool {
        self.failure.is_like(failure) && self.end == end_of(execution)
    }
}

/// The failures seen, each once.
pub(super) struct Distinct {
    known: EngineVec<Known>,
    /// The pairs of lines of those that are races.
    races: EngineVec<u64>,
}

impl Distinct {
    pub(super) const fn new() -> Self {
        Self {
            known: engine_vec(),
            races: engine_vec(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.known.len() == MOST
    }

    /// Whether it was seen before. Of races, each pair of lines counts once, whichever
    /// access comes first.
    pub(super) fn contains(&self, execution: &Execution, failure: &Failure) -> bool {
        if failure.kind == Kind::Race {
            return pairs().all(|pair| self.races.contains(&pair));
        }
        let end = end_of(execution);
        let mut known = self.known.iter();
        known.any(|known| known.failure == *failure && known.end == end)
    }

    /// The failure that was seen as the one numbered `index`.
    pub(super) fn get(&self, index: usize) -> Option<&Known> {
        self.known.get(index)
    }

    pub(super) fn insert(&mut self, execution: &Execution, failure: Failure) {
        let end = end_of(execution);
        // SAFETY: between executions the exploring thread alone uses the monitors.
        let learnt = unsafe { (*monitor::monitors()).races.learnt() };
        if failure.kind == Kind::Race {
            self.races.extend(pairs());
        }
        self.known.push(Known {
            failure,
            end,
            learnt,
        });
    }
}

/// The pairs of lines that raced in the last execution, and may not.
fn pairs() -> impl Iterator<Item = u64> {
    // SAFETY: between executions the exploring thread alone uses the monitors.
    let races = unsafe { &(*monitor::monitors()).races };
    races.found(Level::Deny).map(race::Found::pair)
}

/// A hash of what the words for an execution's end will be made of, without the
/// numbers of its tasks: which operations wait, or go round, and where.
fn end_of(execution: &Execution) -> u64 {
    let events = &execution.log.events;
    // Whether a task yields is judged by the last half of the steps.
    let late = &events[events.len() / 2..];
    let mut parts = engine_vec();
    match execution.ending {
        Ending::Deadlock => {
            let blocked = monitor::blocked_tasks(execution);
            parts.extend(essential(&blocked).map(|b| operation(b.op, b.site)));
        }
        Ending::Livelock => parts.extend(late.iter().map(|e| operation(e.op, e.site))),
        Ending::Spin(task) => {
            let own = late.iter().filter(|e| e.task == task);
            parts.extend(own.map(|e| operation(e.op, e.site)));
        }
        Ending::Finished
        | Ending::TooLong
        | Ending::Stopped
        | Ending::NoDonor(_)
        | Ending::Unclean
        | Ending::NeedsProcess(_) => {}
    }
    parts.sort_unstable();
    if execution.ending != Ending::Deadlock {
        parts.dedup();
    }
    hash_of(&parts)
}

/// The waits that make the deadlock: those of its circle; where there is none,
/// all but those for a task that waits itself.
fn essential(blocked: &[Blocked]) -> impl Iterator<Item = &Blocked> {
    let circle = monitor::cycle(blocked);
    let waits_for_task = |b: &Blocked| matches!(b.op, Op::Join | Op::ScopeEnd);
    let only_joins = blocked.iter().all(waits_for_task);
    blocked.iter().filter(move |b| match circle.len() {
        0 => only_joins || !waits_for_task(b),
        _ => circle.contains(&b.task),
    })
}

fn operation(op: Op, site: Option<Site>) -> u64 {
    hash_of(&(op as u8, site))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
