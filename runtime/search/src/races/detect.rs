//! Race detection: the steps that depend on each other and race.

use super::accesses::{Access, is_exclusive};
use super::clocks::Clock;
use super::{HappensBefore, Met, NOTHING, Place, Race, Role};
use crate::{Touch, Trace, TraceStep};
use chess_vocabulary::{Dependence, Effect};

impl HappensBefore {
    /// Checks whether the step `at` races with the earlier step `other`, on which it depends, and
    /// of which its task did not know.
    #[inline]
    pub(super) fn detect(
        &mut self,
        trace: &Trace,
        at: u32,
        effect: Effect,
        other: Access,
        relation: Dependence,
    ) {
        let step = &trace.steps[at as usize];
        let is_woken = step.waker != TraceStep::NONE && !step.timed;
        if is_woken && !step.retries && self.precedes(other.step, step.waker) {
            return;
        }
        let enables = relation == Dependence::Enables;
        if enables || is_woken && step.waker == other.step {
            if self.waits_too && (effect, other.effect) == (Effect::Acquire, Effect::Leave) {
                self.waits_for(other.step, at);
            } else if self.waits_too {
                self.detect_wait(at, other.step);
            } else if enables {
                let leaves = other.effect == Effect::Leave;
                self.met.push(Met {
                    step: other.step,
                    role: if leaves {
                        Role::Leaving
                    } else {
                        Role::Enabling
                    },
                    at_lock: true,
                });
            }
            return;
        }
        let hides = if takes(effect) {
            !matches!(other.effect, Effect::Read | Effect::Fail)
        } else {
            !self.waits_too || !takes_something(trace, at)
        };
        self.met.push(Met {
            step: other.step,
            role: if hides { Role::Hiding } else { Role::Candidate },
            at_lock: takes(effect),
        });
    }

    /// Checks whether the step `at` could have come to wait for the earlier step `other`: its task
    /// has taken steps since then.
    #[inline]
    fn detect_wait(&mut self, at: u32, other: u32) {
        let Place { previous, .. } = self.places[at as usize];
        if previous != NOTHING && previous > other {
            self.waits_for(other, at);
        }
    }

    /// Adds a race of `second` with `first`, which only enables it.
    #[inline(never)]
    fn waits_for(&mut self, first: u32, second: u32) {
        self.races.push(Race {
            first,
            second,
            waits: true,
        });
    }

    /// A *queue step* is a step in which a task begins to wait for the readers of a lock. After a
    /// queue step no further reader can acquire the lock. Adds the races of the step `at`, which
    /// acquires a lock for reading, with queue steps: those that its task did not know, back to the
    /// last queue step or exclusive acquisition before the previous step of its task. A race with a step after a queue step
    /// cannot be reversed. (A `try` acquisition counts as a queue step, which costs a few schedules.)
    #[inline(never)]
    pub(super) fn detect_queues(&mut self, at: u32, before: Clock, touch: Touch) {
        let Place { previous, .. } = self.places[at as usize];
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(&access) = self.accesses.get(next) {
            let queues = access.effect == Effect::Queue;
            if queues && !self.clocks.knows(before, access.task, access.step) {
                self.races.push(Race {
                    first: access.step,
                    second: at,
                    waits: false,
                });
            }
            let is_last = queues || is_exclusive(access.effect);
            if is_last && previous != NOTHING && access.step <= previous {
                break;
            }
            next = access.next;
        }
    }

    /// Adds the races of a step that acquires a lock exclusively, or is a queue step, with the steps
    /// in which readers released it, if tasks try to read: after a queue step such attempts fail.
    #[inline(never)]
    pub(super) fn detect_leaves(&mut self, at: u32, before: Clock, touch: Touch) {
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(&access) = self.accesses.get(next) {
            if access.effect == Effect::Leave
                && !self.clocks.knows(before, access.task, access.step)
            {
                self.races.push(Race {
                    first: access.step,
                    second: at,
                    waits: false,
                });
            }
            if is_exclusive(access.effect) {
                break;
            }
            next = access.next;
        }
    }

    /// Adds the race of a step that acquires a lock with the acquisition by which the lock was held
    /// when the task began to wait for it, even if other tasks have acquired it since then.
    /// (Flanagan and Godefroid, POPL'05, do the same: the next step of each task races in each
    /// state. Without a bound this is not needed: the race would show when the lock is free in
    /// time.) The last acquisition of the lock was the exclusive access `newest`.
    #[inline(never)]
    pub(super) fn detect_arrival(
        &mut self,
        trace: &Trace,
        at: u32,
        before: Clock,
        effect: Effect,
        newest: u32,
    ) {
        let Place { previous, .. } = self.places[at as usize];
        let came = match trace.steps[at as usize].waker {
            TraceStep::NONE => previous,
            waker => previous.max(waker),
        };
        let mut held = self.accesses.get(newest);
        if held.is_none_or(|newest| newest.step <= came) {
            return;
        }
        while let Some(access) = held
            && access.step > came
        {
            held = self.accesses.exclusive_from(access.next);
        }
        if let Some(access) = held
            && effect.depends(access.effect) != Dependence::None
            && !self.clocks.knows(before, access.task, access.step)
        {
            self.waits_for(access.step, at);
        }
    }

    /// Adds the races of a step that tries to acquire a lock with acquisitions that later ones of
    /// the same task hide. The race with a later acquisition can be reversed before its turn, at no
    /// cost, unless the task held the lock there from an acquisition in an earlier turn. Then the
    /// step also races with that acquisition.
    #[inline(never)]
    pub(super) fn detect_turns(&mut self, at: u32, before: Clock, touch: Touch) {
        let mut holder = None;
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(&access) = self.accesses.get(next) {
            next = access.next;
            let (task, step) = (access.task, access.step);
            // The touch may commute with a shared acquisition.
            let excludes = is_acquisition(access.effect)
                && touch.effect.depends(access.effect) == Dependence::Races;
            if !excludes || self.clocks.knows(before, task, step) {
                continue;
            }
            let turn = self.turn_of(step);
            match holder {
                None => holder = Some((task, turn)),
                Some((same, later)) if same == task => {
                    if step < later {
                        self.races.push(Race {
                            first: step,
                            second: at,
                            waits: false,
                        });
                    }
                    holder = Some((task, turn));
                }
                Some(_) if is_exclusive(access.effect) => break,
                Some(_) => {}
            }
        }
    }

    /// As [`Self::detect_arrival`], for executions in which tasks yield. A yield ends the turn of
    /// the task that holds the lock, and no task that needs the lock can continue there. An earlier
    /// place before the last acquisition of the lock may then cost more preemptions than one before
    /// an earlier acquisition. So the step races with each of them.
    #[inline(never)]
    pub(super) fn detect_each(&mut self, at: u32, before: Clock, effect: Effect, newest: u32) {
        let mut next = self.accesses.get(newest).map(|newest| newest.next);
        while let Some(access) = next
            .and_then(|next| self.accesses.exclusive_from(next))
            .copied()
        {
            next = Some(access.next);
            if effect.depends(access.effect) == Dependence::Races
                && !self.clocks.knows(before, access.task, access.step)
            {
                self.races.push(Race {
                    first: access.step,
                    second: at,
                    waits: false,
                });
            }
        }
    }
}

/// Whether an operation acquires a lock.
#[inline]
pub(super) fn takes(effect: Effect) -> bool {
    matches!(effect, Effect::Acquire | Effect::Enter)
}

/// Whether an access may be the acquisition of a lock, by waiting or by trying.
fn is_acquisition(effect: Effect) -> bool {
    is_exclusive(effect) || matches!(effect, Effect::Enter | Effect::TryEnter)
}

/// Whether a step acquires a lock.
#[inline(never)]
fn takes_something(trace: &Trace, at: u32) -> bool {
    let mut touches = trace.touches_of(at as usize).iter();
    touches.any(|touch| takes(touch.effect))
}
