//! The orders in which the executions of a test have pairs of conflicting operations: the measure
//! that names the pairs of which one order was never seen.
//!
//! The operations of the source are numbered as *lines*. Two events of different tasks on one object
//! *conflict* if their effects do not commute. The order of two lines was *seen* if in some execution
//! an event of the first line comes before a conflicting event of the second line. Two lines *race*
//! if in some execution two of their conflicting events race: neither the earlier events of the
//! second one's task nor the step that woke it happened after the first one ("not otherwise ordered",
//! Flanagan and Godefroid, POPL'05, section 3). A pair that races, and of which only one order was
//! seen, is a *blind pair*.
//!
//! Both are properties of the happens-before graph: all executions of a graph have the same order of
//! conflicting events. So a complete search of one execution for each graph sees all orders.

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
    /// The number that the caller gave the line.
    pub line: u32,
}

/// The facts that are known about two lines, or about one line in two tasks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PairOrders {
    /// The first line came before the second one. For one line: in the task with the smaller number
    /// before the other task.
    pub forward: bool,
    /// The second line came before the first one.
    pub backward: bool,
    /// They raced.
    pub races: bool,
}

/// The first line came before the second one; for one line, in the task with the smaller number.
const SEEN: u8 = 1;
/// The first line came before the second one, in a race.
const RACED: u8 = 2;
/// One line came in the task with the larger number before the other task.
const SEEN_BACKWARD: u8 = 4;

/// Stands for no entry.
const NOTHING: u32 = u32::MAX;

/// The events of a line, by one task and with one effect, on one object of the current execution.
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
    /// A byte for each pair of lines: for every number, the pairs of this line with all lines up to
    /// it come after those of the smaller numbers.
    pairs: EngineVec<u8>,
    reader: Reader,
}

codec!(Orders { pairs, reader });

/// The state for reading one trace, which is reused for its allocations.
struct Reader {
    happens_before: HappensBefore,
    /// The first entry of each object.
    first: EngineVec<u32>,
    entries: EngineVec<Entry>,
}

/// There is nothing to save between executions.
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
    /// The orders of no execution.
    pub const fn new() -> Self {
        Self {
            pairs: engine_vec(),
            reader: Reader::new(),
        }
    }

    /// Adds the orders of an execution. `labels` has the lines of touches, in the order of the trace;
    /// other touches belong to no line.
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

    /// The facts about the lines `first` and `second`, of which the second one is not smaller.
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
    /// Whether nothing but the common object orders `earlier` before the step with the number `later`.
    fn races(&self, step: &TraceStep, earlier: Entry, later: u32) -> bool {
        if step.comes_last {
            return false;
        }
        let order = &self.happens_before;
        let is_before =
            |other: u32| other != TraceStep::NONE && order.precedes(earlier.step, other);
        // A task that retries depends on the step that woke it only by the object.
        let is_woken = !step.retries && !step.timed;
        !(is_before(order.previous(later)) || is_woken && is_before(step.waker))
    }
}

/// Whether an operation could have come before an `earlier` one that it depends on. A release may be
/// the reason why the later operation could take place, whether or not that one had to wait for it.
fn may_race(earlier: Effect, later: Effect) -> bool {
    earlier != Effect::Release && later.depends(earlier) == Dependence::Races
}

/// The place of the facts about an event of line `first` before one of line `second`.
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
