//! The orders of pairs of conflicting operations in the executions of a test. They show the pairs
//! of which one order was never seen.
//!
//! Each operation in the source is a *line*, with a number. Two events of different tasks on one
//! object *conflict* if their effects do not commute. The order of two lines was *seen* if in some
//! execution an event of the first line comes before a conflicting event of the second line. Two
//! lines *race* if in some execution two of their conflicting events race: the first event did not
//! happen before an earlier event of the second event's task, nor before the step that woke this
//! task ("not otherwise ordered", Flanagan and Godefroid, POPL'05, section 3). A pair that races,
//! and of which only one order was seen, is a *blind pair*.
//!
//! The orders and the races depend only on the happens-before graph of an execution. So a complete
//! search that runs one execution for each graph sees all orders.

use chess_vocabulary::{Dependence, Effect};

use super::races::HappensBefore;
use super::{Trace, TraceStep};
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};

/// The line of a touch of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Labelled {
    /// The index of the touch.
    pub touch: u32,
    /// The number of the line. The caller chooses these numbers.
    pub line: u32,
}

/// The orders of two lines that were seen. The two lines may be one line in two tasks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PairOrders {
    /// An event of the first line came before an event of the second line. If both are the same
    /// line: the task with the smaller number was first.
    pub forward: bool,
    /// The opposite order of [`Self::forward`].
    pub backward: bool,
    /// The two lines raced.
    pub races: bool,
}

/// An event of the first line came before an event of the second line. If both are the same line:
/// the task with the smaller number was first.
const SEEN: u8 = 1;
/// The first line came before the second line, and the two raced.
const RACED: u8 = 2;
/// Both lines are the same, and the task with the larger number was first.
const SEEN_BACKWARD: u8 = 4;

/// The index of no entry.
const NOTHING: u32 = u32::MAX;

/// The events of one line, by one task and with one effect, on one object of the current
/// execution.
#[derive(Clone, Copy)]
struct Entry {
    line: u32,
    task: u32,
    effect: Effect,
    /// The newest step with such an event.
    step: u32,
    /// The next entry of the object.
    next: u32,
}

/// The orders of all pairs of lines.
pub struct Orders {
    /// A byte for each ordered pair of lines, at its [`place`]. The pairs are sorted by the larger
    /// line of each pair, so that a new line adds bytes only at the end.
    pairs: EngineVec<u8>,
    reader: Reader,
}

codec!(Orders { pairs, reader });

/// The state for reading one trace. It is kept only to reuse its allocations.
struct Reader {
    happens_before: HappensBefore,
    /// The first entry of each object.
    first: EngineVec<u32>,
    entries: EngineVec<Entry>,
}

/// A reader has no state between executions, so nothing is saved.
impl crate::base::codec::Codec for Reader {
    fn write(&self, _: &mut crate::base::checkpoint::Checkpoint) {}

    fn read(_: &mut &[u8]) -> Option<Self> {
        Some(Self::new())
    }
}

impl Reader {
    const fn new() -> Self {
        Self {
            happens_before: HappensBefore::new(false),
            first: engine_vec(),
            entries: engine_vec(),
        }
    }
}

impl Orders {
    /// The orders before the first execution.
    pub const fn new() -> Self {
        Self {
            pairs: engine_vec(),
            reader: Reader::new(),
        }
    }

    /// Adds the orders of an execution. `labels` contains the lines of touches, in the order of
    /// the trace. Touches without a label belong to no line.
    pub fn add(&mut self, trace: &Trace, labels: &[Labelled]) {
        self.reader.happens_before.read(trace);
        self.reader.first.clear();
        self.reader.entries.clear();
        let mut labels = labels.iter().peekable();
        for (at, step) in trace.steps.iter().enumerate() {
            // A step that was still blocked at the end did not take place.
            if step.decision == TraceStep::NEVER {
                break;
            }
            let touches = trace.touches_of(at);
            let end = step.accesses + touches.len() as u32;
            while let Some(label) = labels.next_if(|label| label.touch < end) {
                let touch = trace.touches[label.touch as usize];
                // Attempts to read may fail because a task waits for the lock. The graph does not
                // show when that task began to wait.
                let is_hidden = touch.effect == Effect::Fail && trace.tries_to_read;
                if touch.effect == Effect::Queue || is_hidden {
                    continue;
                }
                let event = Entry {
                    line: label.line,
                    task: step.task.0,
                    effect: touch.effect,
                    step: at as u32,
                    next: NOTHING,
                };
                self.add_event(step, touch.object.0, event);
            }
        }
    }

    /// Adds an event on `object`, in `step` of its trace.
    fn add_event(&mut self, step: &TraceStep, object: u32, event: Entry) {
        let object = object as usize;
        if self.reader.first.len() <= object {
            self.reader.first.resize(object + 1, NOTHING);
        }
        let mut own = None;
        let mut next = self.reader.first[object];
        while let Some(&earlier) = self.reader.entries.get(next as usize) {
            let dependence = event.effect.depends(earlier.effect);
            if earlier.task == event.task {
                let is_own = (earlier.line, earlier.effect) == (event.line, event.effect);
                own = if is_own { Some(next) } else { own };
            } else if dependence != Dependence::None {
                let races = may_race(earlier.effect, event.effect)
                    && self.reader.races(step, earlier, event.step);
                self.note(earlier, event, races);
            }
            next = earlier.next;
        }
        if let Some(own) = own {
            self.reader.entries[own as usize].step = event.step;
        } else {
            let number = self.reader.entries.len() as u32;
            let next = core::mem::replace(&mut self.reader.first[object], number);
            self.reader.entries.push(Entry { next, ..event });
        }
    }

    fn note(&mut self, earlier: Entry, later: Entry, races: bool) {
        let seen = if earlier.line == later.line && earlier.task > later.task {
            SEEN_BACKWARD
        } else {
            SEEN
        };
        let place = place(earlier.line, later.line);
        if self.pairs.len() <= place {
            self.pairs.resize(place + 1, 0);
        }
        self.pairs[place] |= seen | if races { RACED } else { 0 };
    }

    /// The orders of the lines `first` and `second`. `second` must not be smaller than `first`.
    pub fn of(&self, first: u32, second: u32) -> PairOrders {
        let facts = |first, second| self.pairs.get(place(first, second)).copied().unwrap_or(0);
        let forward = facts(first, second);
        let backward = facts(second, first);
        let is_backward = if first == second {
            backward & SEEN_BACKWARD
        } else {
            backward & SEEN
        };
        PairOrders {
            forward: forward & SEEN != 0,
            backward: is_backward != 0,
            races: (forward | backward) & RACED != 0,
        }
    }
}

impl Reader {
    /// Whether the event `earlier` races with `step`: nothing but their common object orders them.
    /// `later` is the index of `step`.
    fn races(&self, step: &TraceStep, earlier: Entry, later: u32) -> bool {
        if step.comes_last {
            return false;
        }
        let order = &self.happens_before;
        let is_before =
            |other: u32| other != TraceStep::NONE && order.precedes(earlier.step, other);
        // A task that retries depends on the step that woke it only through the object.
        let is_woken = !step.retries && !step.timed;
        !(is_before(order.previous(later)) || is_woken && is_before(step.waker))
    }
}

/// Whether an operation with the effect `later` could have come before an operation with the effect
/// `earlier`, on which it depends. It could not if `earlier` is a release. Perhaps the later
/// operation was possible only because of the release, even if its task did not wait.
fn may_race(earlier: Effect, later: Effect) -> bool {
    earlier != Effect::Release && later.depends(earlier) == Dependence::Races
}

/// The index in [`Orders::pairs`] for the order in which line `first` comes before line `second`.
fn place(first: u32, second: u32) -> usize {
    let (first, second) = (first as usize, second as usize);
    if first < second {
        second * second + first
    } else {
        first * first + first + second
    }
}

#[cfg(test)]
mod tests;
