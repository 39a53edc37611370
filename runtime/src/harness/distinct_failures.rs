//! The distinct failures of a search, and the rule by which two failures are the same one.
//!
//! A search collects distinct failures if it continues after the first one.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Ending, Execution, Op, Site, Timers};
use crate::monitor::race::{self, Learnt};
use crate::monitor::{self, Blocked, Failure, Kind, Level};
use crate::search::{Cost, Decision};

/// The maximum number of distinct failures of one test.
pub(super) const MOST: usize = 32;

/// A failure that was found after the first one.
pub(crate) struct FoundFailure {
    pub(crate) failure: Failure,
    pub(crate) cost: Cost,
    pub(crate) decisions: EngineVec<Decision>,
    /// The rule for timeouts in this schedule.
    pub(crate) timers: Timers,
    /// The number of early timeouts.
    pub(crate) early: u32,
    /// The scheduling points that the search had learnt, and the races that it no longer reported,
    /// when the failure was found.
    pub(crate) learnt: Learnt,
}

/// A failure that the search has seen, from the first execution that had it.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) failure: Failure,
    end: u64,
    /// The scheduling points that the search had learnt, and the races that it no longer reported,
    /// when the failure was first seen.
    pub(super) learnt: Learnt,
}

impl Known {
    /// Whether `failure`, with which `execution` ended, is this failure.
    pub(super) fn is(&self, execution: &Execution, failure: &Failure) -> bool {
        self.failure == *failure && self.end == end_of(execution)
    }

    /// As [`Self::is`], but the values that an assertion compared may differ.
    pub(super) fn is_like(&self, execution: &Execution, failure: &Failure) -> bool {
        self.failure.is_like(failure) && self.end == end_of(execution)
    }
}

/// The failures that were seen, each once.
pub(super) struct Distinct {
    known: EngineVec<Known>,
    /// The pairs of lines of all data races that were seen, as numbers.
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

    /// Whether a failure was seen before. A data race counts as seen if each pair of lines that
    /// raced in the last execution was seen before, in either order of the accesses.
    pub(super) fn contains(&self, execution: &Execution, failure: &Failure) -> bool {
        if failure.kind == Kind::Race {
            return pairs().all(|pair| self.races.contains(&pair));
        }
        let end = end_of(execution);
        let mut known = self.known.iter();
        known.any(|known| known.failure == *failure && known.end == end)
    }

    /// The failure with the number `index`, in the order in which the failures were first seen.
    pub(super) fn get(&self, index: usize) -> Option<&Known> {
        self.known.get(index)
    }

    pub(super) fn insert(&mut self, execution: &Execution, failure: Failure) {
        let end = end_of(execution);
        // SAFETY: between executions only the exploring thread uses the monitors.
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

/// The pairs of lines that raced in the last execution, and whose level is [`Level::Deny`].
fn pairs() -> impl Iterator<Item = u64> {
    // SAFETY: between executions only the exploring thread uses the monitors.
    let races = unsafe { &(*monitor::monitors()).races };
    races.found(Level::Deny).map(race::RaceReport::pair)
}

/// A hash of the end of an execution, by which deadlocks, livelocks and spins are distinguished:
/// the operations that wait or repeat, and their places. The numbers of tasks have no part in the
/// hash. All other ends have the same hash.
fn end_of(execution: &Execution) -> u64 {
    let events = &execution.log.events;
    // The last half of the steps decides whether a task yields.
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
        | Ending::Assumption
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

/// The waits that make the deadlock. These are the waits of its cycle, if there is one. Otherwise,
/// these are all waits except those for the end of another task. If all waits are for the end of
/// another task, these are all waits.
fn essential(blocked: &[Blocked]) -> impl Iterator<Item = &Blocked> {
    let cycle = monitor::cycle(blocked);
    let waits_for_task = |b: &Blocked| matches!(b.op, Op::Join | Op::ScopeEnd);
    let only_joins = blocked.iter().all(waits_for_task);
    blocked.iter().filter(move |b| match cycle.len() {
        0 => only_joins || !waits_for_task(b),
        _ => cycle.contains(&b.task),
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
