//! Race detection: the steps that depend on each other and race.

use super::accesses::{Access, is_exclusive};
use super::clocks::Clock;
use super::{HappensBefore, Met, NOTHING, Place, Race, Role};
use crate::{Touch, Trace, TraceStep};
use chess_vocabulary::{Dependence, Effect};

impl HappensBefore {
    /// Checks whether the step `at` races with the earlier access `other`. The step `at` depends
    /// on `other`, and no earlier step of the task of `at` happened after `other`.
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

    /// Adds the race of the step `at` with `other`, an earlier step that only enables `at`. Adds it
    /// only if the task of `at` has taken steps since `other`: then this task could have begun to
    /// wait before `other`.
    #[inline]
    fn detect_wait(&mut self, at: u32, other: u32) {
        let Place { previous, .. } = self.places[at as usize];
        if previous != NOTHING && previous > other {
            self.waits_for(other, at);
        }
    }

    /// Adds a race with [`Race::waits`].
    #[inline(never)]
    fn waits_for(&mut self, first: u32, second: u32) {
        self.races.push(Race {
            first,
            second,
            waits: true,
        });
    }

    /// Adds the races of the step `at`, which acquires a lock for reading, with queue steps. In a
    /// *queue step* a task begins to wait until the readers of a lock release it. After a queue
    /// step no further reader can acquire the lock. So `at` cannot run during such a wait. To run
    /// before the end of the wait, it has to run before the queue step.
    ///
    /// Only queue steps that did not happen before `at` race with `at`. The search for them ends
    /// at the last queue step or exclusive acquisition before the previous step of the task of
    /// `at`.
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

    /// Adds the races of the step `at` with the steps in which readers released a lock. The step
    /// `at` acquires this lock exclusively, or begins to wait for its readers. These races are
    /// needed only if tasks try to read, because attempts to read fail while a task waits for the
    /// readers.
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

    /// Adds a race between the step `at`, which acquires a lock, and the acquisition by the task
    /// that held the lock when the task of `at` began to wait. Adds it only if other tasks have
    /// acquired the lock since then. (In Flanagan and Godefroid, POPL'05, the next step of each
    /// task also races in each state. A search without a bound does not need this: it finds the
    /// race in an execution in which the lock is free earlier.) `newest` is the last exclusive
    /// access to the lock.
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

    /// Adds races of the step `at`, which acquires a lock, with acquisitions that are hidden by
    /// later acquisitions of the same task. Usually the race with the later acquisition is enough:
    /// a switch at the start of the turn of this acquisition reverses the race at no cost. But if
    /// the same task already held the lock at the start of this turn, the earlier acquisition also
    /// races with `at`.
    #[inline(never)]
    pub(super) fn detect_turns(&mut self, at: u32, before: Clock, touch: Touch) {
        let mut holder = None;
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(&access) = self.accesses.get(next) {
            next = access.next;
            let (task, step) = (access.task, access.step);
            // The touch commutes with a shared acquisition if it is shared itself.
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

    /// As [`Self::detect_arrival`], for executions in which tasks yield: the step `at` races with
    /// each earlier exclusive access. A yield ends the turn of the task that holds the lock, and
    /// no task that needs the lock can continue there. So to run `at` before the last acquisition
    /// may cost more preemptions than to run it before an earlier one.
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

/// Whether an operation with this effect acquires a lock by waiting.
#[inline]
pub(super) fn takes(effect: Effect) -> bool {
    matches!(effect, Effect::Acquire | Effect::Enter)
}

/// Whether an access with this effect may be the acquisition of a lock, by waiting or by trying.
fn is_acquisition(effect: Effect) -> bool {
    is_exclusive(effect) || matches!(effect, Effect::Enter | Effect::TryEnter)
}

/// Whether a step acquires a lock by waiting.
#[inline(never)]
fn takes_something(trace: &Trace, at: u32) -> bool {
    let mut touches = trace.touches_of(at as usize).iter();
    touches.any(|touch| takes(touch.effect))
}
