//! Happens-before over the steps of a trace, and the races in it.
//!
//! Two steps of different tasks race if they depend on each other, could change places, and are
//! not ordered by steps between them (Abdulla, Aronis, Jonsson and Sagonas, POPL'14, section 3).
//! Two acquisitions of a lock race. A release does not race with the acquisition that it enables.

mod accesses;
mod clocks;
mod detect;
mod race_filter;

use self::accesses::{Access, Accesses, is_exclusive};
use self::clocks::{Clock, Clocks};
use self::detect::takes;
use crate::base::memory::{EngineVec, engine_vec};
use crate::{Touch, Trace, TraceStep};
use chess_vocabulary::{Dependence, Effect};

/// Two steps that race, the earlier one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Race {
    pub(super) first: u32,
    pub(super) second: u32,
    /// The reversal makes a difference only under the conditions of [`HappensBefore::matters`].
    /// The first step only enables the second one, or acquires a lock that other tasks have
    /// acquired again before the second step.
    pub(super) waits: bool,
}

/// The value of an index that refers to no step or no access.
const NOTHING: u32 = u32::MAX;

/// An earlier step on which the current step depends. It did not happen before any earlier step of
/// the current task.
#[derive(Clone, Copy)]
struct Met {
    step: u32,
    role: Role,
    /// Whether the two steps meet at a lock that the current step acquires.
    at_lock: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The met step may race with the current step.
    Candidate,
    /// The met step may race with the current step. The current step does not race with the steps
    /// that happened before the met step: the met step *hides* them.
    ///
    /// Two kinds of met steps are [`Self::Candidate`]s instead, and hide nothing. The first kind
    /// only reads a lock that the current step acquires, or fails to acquire it. The second kind
    /// exists only for a search with a bound: the current step acquires a lock, but the two steps
    /// conflict at another object. At the time of the met step, another task may have held the
    /// lock, so that the current step was not possible.
    Hiding,
    /// The current step had to wait for the met step.
    Enabling,
    /// A shared holder releases a lock in the met step, and the current step had to wait for that.
    /// If the current task had begun to wait earlier, no other task could have acquired the lock
    /// during this wait.
    Leaving,
}

impl Role {
    /// Whether the current step had to wait for the met step.
    fn enables(self) -> bool {
        matches!(self, Self::Enabling | Self::Leaving)
    }
}

/// A step of the trace.
#[derive(Clone, Copy)]
struct Place {
    /// The first step of the turn that contains this step. A turn is a run of steps of one task,
    /// without steps of other tasks, yields or timeouts between them.
    turn: u32,
    task: u32,
    /// The previous step of its task.
    previous: u32,
    clock: Clock,
    /// As in [`TraceStep`].
    numbering: u64,
}

/// The happens-before relation of one trace. A search uses one value for all its traces, so that
/// the allocations are reused.
pub struct HappensBefore {
    places: EngineVec<Place>,
    clocks: Clocks,
    accesses: Accesses,
    /// The newest step of each task.
    newest: EngineVec<u32>,
    /// Only races whose second step is this step or a later one are searched.
    fresh: u32,
    /// Whether a step also races with an earlier step that only enables it, if the task of the
    /// later step has steps between the two. The reversal of such a race makes the task begin to
    /// wait earlier. A search with a bound needs it, because a switch away from a waiting task is
    /// free.
    waits_too: bool,
    /// Whether a step in which a task begins to wait for readers is ordered with the steps in
    /// which these readers release the lock. Attempts to read fail between such steps. `true` once
    /// a trace has had such an attempt, but always `false` if `waits_too` is `true`.
    orders_queues: bool,
    met: EngineVec<Met>,
    pub(super) races: EngineVec<Race>,
}

impl HappensBefore {
    /// An empty relation. `waits_too`: whether a step also races with a step that only enables it.
    pub const fn new(waits_too: bool) -> Self {
        Self {
            places: engine_vec(),
            clocks: Clocks::new(),
            accesses: Accesses::new(),
            newest: engine_vec(),
            fresh: 0,
            waits_too,
            orders_queues: false,
            met: engine_vec(),
            races: engine_vec(),
        }
    }

    /// Whether `earlier` is `later`, or happened before it.
    #[inline]
    pub fn precedes(&self, earlier: u32, later: u32) -> bool {
        let Place { task, .. } = self.places[earlier as usize];
        let later_one = self.places[later as usize];
        if task == later_one.task {
            earlier <= later
        } else {
            self.clocks.knows(later_one.clock, task, earlier)
        }
    }

    /// The first step of the turn that contains `step`.
    #[inline]
    pub(super) fn turn_of(&self, step: u32) -> u32 {
        self.places[step as usize].turn
    }

    /// The previous step of the same task; [`TraceStep::NONE`] if there is none.
    #[inline]
    pub(super) fn previous(&self, step: u32) -> u32 {
        self.places[step as usize].previous
    }

    /// The length of the shortest prefix of the trace that contains all steps of other tasks that
    /// happened before `step`.
    pub(super) fn known_of_others(&self, step: u32) -> u32 {
        let Place { task, clock, .. } = self.places[step as usize];
        self.clocks.latest_but(clock, task)
    }

    /// Reads `trace`. Afterwards [`Self::races`] contains the races of this trace.
    pub(super) fn read(&mut self, trace: &Trace) {
        self.read_on(trace, 0, 0);
    }

    /// Reads `trace`, and finds only the races whose second step is not before `fresh`. The first
    /// `shared` steps must be those of the trace that was read last. The objects may have other
    /// numbers there.
    #[inline]
    pub fn read_on(&mut self, trace: &Trace, shared: usize, fresh: usize) {
        let shared = shared.min(fresh).min(trace.steps.len());
        self.take_back(if self.has_numbering_of(trace, shared) {
            shared
        } else {
            0
        });
        self.races.clear();
        self.fresh = fresh as u32;
        let read = self.places.len();
        self.places.reserve(trace.steps.len() - read);
        let last = read.checked_sub(1).map(|last| trace.steps[last]);
        let mut continues = last.is_some_and(|last| !last.yields);
        for (step, at) in trace.steps[read..].iter().zip(read as u32..) {
            continues = self.read_step(trace, step, at, continues);
        }
    }

    /// Records whether tasks try to read a lock in `trace`. Returns whether this changes the
    /// relation. If so, the next [`Self::read_on`] must share no step with an earlier trace.
    #[inline]
    pub fn note_attempts(&mut self, trace: &Trace) -> bool {
        let changes = trace.tries_to_read && !self.waits_too && !self.orders_queues;
        self.orders_queues |= changes;
        changes
    }

    /// Whether a step in which a task begins to wait for readers is ordered with the steps in
    /// which these readers release the lock.
    pub(super) fn orders_queues(&self) -> bool {
        self.orders_queues
    }

    /// Whether the objects of the first `shared` steps have the same numbers as in `trace`.
    #[inline]
    fn has_numbering_of(&self, trace: &Trace, shared: usize) -> bool {
        let last = shared.min(self.places.len().saturating_sub(1));
        match (self.places.get(last), trace.steps.get(last)) {
            (Some(place), Some(step)) => place.numbering == step.numbering,
            _ => shared == 0,
        }
    }

    /// Removes all steps but the first `shared` ones.
    #[inline]
    fn take_back(&mut self, shared: usize) {
        if shared >= self.places.len() {
            return;
        }
        for place in self.places[shared..].iter().rev() {
            self.newest[place.task as usize] = place.previous;
        }
        self.places.truncate(shared);
        let mut newest = Clock::default();
        for step in &self.newest {
            if let Some(place) = self.places.get(*step as usize) {
                newest = newest.max(place.clock);
            }
        }
        self.clocks.forget_after(newest);
        self.accesses.take_back(shared as u32);
    }

    /// Reads a step. Returns whether the turn of the step may continue after this step. `continues`
    /// is the result for the previous step of the trace.
    #[inline]
    fn read_step(&mut self, trace: &Trace, step: &TraceStep, at: u32, continues: bool) -> bool {
        let task = step.task.0;
        let previous = match self.newest.get_mut(task as usize) {
            Some(newest) => core::mem::replace(newest, at),
            None => self.add_task(task, at),
        };
        let mut turn = at;
        let mut before = if let Some(place) = self.places.get(previous as usize) {
            // A task whose wait timed out was not enabled before the timeout.
            if previous + 1 == at && continues && !step.timed {
                turn = place.turn;
            }
            place.clock
        } else {
            self.clocks.begin(task)
        };
        self.places.push(Place {
            turn,
            task,
            previous,
            clock: before,
            numbering: step.numbering,
        });
        if let Some(waker) = self.places.get(step.waker as usize)
            && !self.clocks.knows(before, waker.task, step.waker)
        {
            self.learn(at, before, step.waker);
        }
        if step.comes_last {
            before = self.learn_all(at, before);
        }
        let next = trace.steps.get(at as usize + 1);
        let end = next.map_or(trace.touches.len(), |next| next.accesses as usize);
        for number in step.accesses as usize..end {
            let touch = trace.touches[number];
            let mine = match self.look(step, before, touch) {
                Some(mine) => mine,
                None => self.look_closely(trace, at, before, touch),
            };
            if step.decision == TraceStep::NEVER {
                continue;
            }
            if mine == NOTHING || is_exclusive(touch.effect) {
                self.accesses.add(at, task, touch);
            } else {
                self.accesses.renew(mine, at);
            }
        }
        if !self.met.is_empty() {
            self.keep_immediate(at, step.decision == TraceStep::NEVER);
        }
        !step.yields
    }

    /// Checks a touch by `step` in the common case. `before` is the clock of the task before the
    /// step. Returns `None` if [`Self::look_closely`] must check the touch: `before` does not
    /// cover all relevant accesses to the object, or the last exclusive access belongs to the step
    /// that woke the task. Otherwise returns an access of the task with the same effects since the
    /// last exclusive access, or [`NOTHING`] if the task has none.
    #[inline]
    fn look(&self, step: &TraceStep, before: Clock, touch: Touch) -> Option<u32> {
        let mut mine = NOTHING;
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(access) = self.accesses.get(next) {
            if !self.clocks.knows(before, access.task, access.step) {
                return None;
            }
            if is_exclusive(access.effect) {
                if access.step == step.waker {
                    return None;
                }
                break;
            }
            if access.is_like(step.task.0, touch) {
                mine = next;
            }
            next = access.next;
        }
        Some(mine)
    }

    /// Continues [`Self::look`] if it has returned `None` for `touch`. Orders the step `at` after the
    /// accesses on which it depends, and finds races. Returns what `look` would return.
    #[inline(never)]
    fn look_closely(&mut self, trace: &Trace, at: u32, before: Clock, touch: Touch) -> u32 {
        let step = &trace.steps[at as usize];
        let mut task = step.task.0;
        let mut mine = NOTHING;
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(&access) = self.accesses.get(next) {
            if !self.clocks.knows(before, access.task, access.step) {
                self.meet(trace, at, before, touch.effect, access);
            } else if access.is_like(task, touch) {
                mine = next;
            }
            if is_exclusive(access.effect) {
                // A step that only woke the task does not hide earlier accesses.
                if access.step != step.waker {
                    let came = self.places[at as usize].previous;
                    if takes(touch.effect) && at >= self.fresh && self.waits_too {
                        if trace.has_yields {
                            self.detect_each(at, before, touch.effect, next);
                        }
                        if access.step > came {
                            self.detect_arrival(trace, at, before, touch.effect, next);
                        }
                    }
                    break;
                }
                task = NOTHING;
            }
            next = access.next;
        }
        if touch.effect == Effect::Enter && at >= self.fresh {
            self.detect_queues(at, before, touch);
        }
        let comes = matches!(touch.effect, Effect::Acquire | Effect::Queue);
        if (comes || touch.effect == Effect::Enter) && at >= self.fresh && self.waits_too {
            self.detect_turns(at, before, touch);
        }
        if comes && trace.tries_to_read && at >= self.fresh {
            self.detect_leaves(at, before, touch);
        }
        mine
    }

    /// Orders the step `at` after the earlier access `other` if the two depend on each other, and
    /// checks whether they race. The step accesses the same object, with `effect`. The clock
    /// `before` must not cover `other`.
    #[inline]
    fn meet(&mut self, trace: &Trace, at: u32, before: Clock, effect: Effect, other: Access) {
        let relation = match (other.effect, effect) {
            (Effect::Queue, Effect::Leave) | (Effect::Leave, Effect::Queue)
                if self.orders_queues =>
            {
                Dependence::Races
            }
            _ => effect.depends(other.effect),
        };
        if relation == Dependence::None {
            return;
        }
        if at >= self.fresh {
            self.detect(trace, at, effect, other, relation);
        }
        self.learn(at, before, other.step);
    }

    /// Records that the step `earlier` of another task, and all steps that happened before
    /// `earlier`, happened before the step `at`. `before` is the clock of the task of `at` before
    /// this step. It does not cover `earlier`.
    #[inline]
    fn learn(&mut self, at: u32, before: Clock, earlier: u32) {
        let Place { task, clock, .. } = self.places[earlier as usize];
        let own = &mut self.places[at as usize].clock;
        if *own == before {
            *own = self.clocks.of_both(before, clock);
        } else if self.clocks.knows(*own, task, earlier) {
            return;
        } else {
            self.clocks.join(*own, clock);
        }
        self.clocks.note(*own, task, earlier);
    }

    /// Records that all steps of other tasks so far happened before the step `at`. Returns the
    /// clock that covers them.
    #[cold]
    fn learn_all(&mut self, at: u32, before: Clock) -> Clock {
        for task in 0..self.newest.len() {
            let step = self.newest[task];
            if step != NOTHING && !self.clocks.knows(before, task as u32, step) {
                self.learn(at, before, step);
            }
        }
        self.places[at as usize].clock
    }

    #[cold]
    fn add_task(&mut self, task: u32, at: u32) -> u32 {
        self.newest.resize(task as usize + 1, NOTHING);
        let clocks = self.places.iter_mut().map(|place| &mut place.clock);
        self.clocks.make_room(task as usize + 1, clocks);
        core::mem::replace(&mut self.newest[task as usize], at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use chess_vocabulary::TaskId;

    /// A trace. Each step is a task, and the object that it writes (0 or 1).
    /// `numbers` are the numbers of the objects.
    fn trace(steps: &[(u32, usize)], numbers: [u32; 2]) -> Trace {
        let mut trace = Trace::new();
        trace.is_wanted = true;
        trace.clear();
        trace.numbering = u64::from(numbers[0]);
        for (&(task, object), decision) in steps.iter().zip(0..) {
            trace.begin(TaskId(task), decision, TraceStep::NONE, false);
            let object = ObjectId(numbers[object]);
            trace.access(object, Effect::Write, Effect::Write);
        }
        trace
    }

    #[test]
    fn races_with_shared_steps_are_found_if_the_objects_have_other_numbers() {
        let steps = [[(0, 0), (0, 1), (1, 1)], [(0, 0), (0, 1), (1, 0)]];
        for numbers in [[0, 1], [1, 0]] {
            let mut order = HappensBefore::new(true);
            order.read_on(&trace(&steps[0], [0, 1]), 0, 0);
            assert_eq!((order.races[0].first, order.races[0].second), (1, 2));
            order.read_on(&trace(&steps[1], numbers), 2, 2);
            assert_eq!(order.races.len(), 1, "{numbers:?}");
            assert_eq!((order.races[0].first, order.races[0].second), (0, 2));
        }
    }
}
