//! Filters that select the races among the conflicts of a step, and the races whose reversal may make
//! a difference.

use super::accesses::{Access, is_exclusive};
use super::{HappensBefore, Met, NOTHING, Race, Role};
use crate::{Touch, Trace, TraceStep};
use chess_vocabulary::Effect;

/// The largest number of accesses that are inspected to decide whether a race matters.
const PATIENCE: u32 = 64;

impl HappensBefore {
    /// Adds the races of the step `second` with its met steps, except those that another met step
    /// hides ([`Role`]). If `blocked` is true, `second` was still blocked at the end.
    #[inline]
    pub(super) fn keep_immediate(&mut self, second: u32, blocked: bool) {
        if let [
            Met {
                step: first, role, ..
            },
        ] = self.met[..]
            && !role.enables()
        {
            self.races.push(Race {
                first,
                second,
                waits: false,
            });
        } else {
            self.leave_out_held(blocked);
            self.keep_unhidden(second);
        }
        self.met.clear();
    }

    /// Removes the met steps that ran while another task held the lock that the current step
    /// acquires, unless they were met at this lock. The current step could not have come before a
    /// removed step. So the two do not race, and the removed step does not hide the race with the
    /// acquisition of the lock ("may be co-enabled" of Flanagan and Godefroid, POPL'05). If
    /// `blocked` is true, the current step was still blocked at the end.
    fn leave_out_held(&mut self, blocked: bool) {
        for place in (0..self.met.len()).rev() {
            let Met { step, at_lock, .. } = self.met[place];
            if !at_lock && self.is_held_at(step, blocked) {
                self.met.remove(place);
            }
        }
    }

    /// Whether another task held the lock of the current step at `step`. It did if `step` happened
    /// after an acquisition, and before a release that enabled the current step. If the current
    /// step is `blocked` and there is no such release, the lock is held until the end.
    fn is_held_at(&self, step: u32, blocked: bool) -> bool {
        let task = |met: &Met| self.places[met.step as usize].task;
        let taking = |met: &&Met| met.at_lock && !met.role.enables();
        self.met.iter().filter(taking).any(|taken| {
            let is_release = |met: &&Met| {
                met.role.enables()
                    && task(met) == task(taken)
                    && self.precedes(taken.step, met.step)
            };
            let mut releases = self.met.iter().filter(is_release).peekable();
            taken.step != step
                && self.precedes(taken.step, step)
                && (blocked && releases.peek().is_none()
                    || releases.any(|release| self.precedes(step, release.step)))
        })
    }

    #[inline(never)]
    fn keep_unhidden(&mut self, second: u32) {
        for place in 0..self.met.len() {
            let Met {
                step: first, role, ..
            } = self.met[place];
            if role.enables() {
                continue;
            }
            let is_kept = self
                .met
                .iter()
                .enumerate()
                .all(|(at, other)| match other.role {
                    // The same step, met twice: only the first entry counts.
                    Role::Hiding | Role::Candidate if other.step == first => at >= place,
                    Role::Candidate | Role::Leaving => true,
                    Role::Hiding => !self.precedes(first, other.step),
                    // The second step needs this release. If the release happened after the first
                    // step, the second step could not come before the first one. The exception is
                    // a release by the task of the first step: the lock may have been free until
                    // this task acquired it.
                    Role::Enabling => {
                        self.places[other.step as usize].task == self.places[first as usize].task
                            || !self.precedes(first, other.step)
                    }
                });
            if is_kept {
                self.races.push(Race {
                    first,
                    second,
                    waits: false,
                });
            }
        }
    }

    /// Whether the reversal of `race` can lead to a new happens-before graph. Always true if
    /// [`Race::waits`] is false.
    ///
    /// Otherwise the reversal only makes the task of the second step wait earlier. This makes a
    /// difference if the wait itself, or a step of this task between the two steps, conflicts with
    /// a step of another task since the first step. Steps that happened after a join of this task
    /// do not count. The wait also makes a difference if it could let a task continue that is
    /// blocked at the end.
    pub(crate) fn matters(&self, trace: &Trace, race: Race) -> bool {
        if !race.waits {
            return true;
        }
        // A task that is blocked at the end because of the acquired lock could acquire it instead,
        // and its steps after that are unknown.
        let mut taken = trace.touches_of(race.second as usize).iter();
        if taken.any(|touch| is_awaited_at_end(trace, race, *touch))
            || self.blocks_at_end(trace, race)
        {
            return true;
        }
        let mut patience = PATIENCE;
        // No task acquires the lock while the second task waits for its readers.
        let waits = trace.touches_of(race.second as usize).iter();
        let mut queues = waits.filter(|touch| awaits_leaving(trace, race, **touch));
        if queues.any(|touch| self.conflicts(trace, race, queue_at(*touch), &mut patience)) {
            return true;
        }
        let mut step = self.places[race.second as usize].previous;
        while step != NOTHING && step > race.first {
            for touch in trace.touches_of(step as usize) {
                if self.conflicts(trace, race, *touch, &mut patience) {
                    return true;
                }
            }
            step = self.places[step as usize].previous;
        }
        false
    }

    /// Whether a step of the second task, from the race's second step on, blocks another task at
    /// the end. If the second task waits earlier, the blocked task may come first, and its steps
    /// after that are unknown.
    fn blocks_at_end(&self, trace: &Trace, race: Race) -> bool {
        let task = trace.steps[race.second as usize].task;
        let steps = trace.steps.iter().enumerate().rev();
        let mut blocked = steps.take_while(|(_, step)| step.decision == TraceStep::NEVER);
        blocked.any(|(at, step)| {
            let mut touches = trace.touches_of(at).iter();
            step.task != task && touches.any(|touch| self.is_kept_from(race, *touch))
        })
    }

    /// Whether the race's second task has an access, from the second step on, that does not
    /// commute with `touch`. `touch` belongs to the operation in which another task is blocked.
    fn is_kept_from(&self, race: Race, touch: Touch) -> bool {
        let task = self.places[race.second as usize].task;
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(access) = self.accesses.get(next)
            && access.step >= race.second
        {
            if access.task == task && !access.effect.commutes(touch.effect) {
                return true;
            }
            next = access.next;
        }
        false
    }

    /// The step in which another task has joined the task of the race's second step.
    fn awaited_end(&self, trace: &Trace, race: Race) -> Option<u32> {
        let task = trace.steps[race.second as usize].task.0;
        let last = self.newest[task as usize];
        let mut touches = trace.touches_of(last as usize).iter();
        touches.find_map(|touch| {
            let newest = self.accesses.newest_of(touch.object);
            let joined = self.accesses.exclusive_from(newest)?.step;
            let joins = joined > last && trace.steps[joined as usize].joins;
            joins.then_some(joined)
        })
    }

    /// Whether `touch`, by the task of the race's second step, conflicts with an access of another
    /// task since the first step, or could conflict with it in another state. Accesses after a
    /// join of the second task do not count. Also returns `true` if `patience` is used up.
    fn conflicts(&self, trace: &Trace, race: Race, touch: Touch, patience: &mut u32) -> bool {
        let task = trace.steps[race.second as usize].task.0;
        let counts = |access: &Access| {
            access.step > race.first
                && access.task != task
                && !access.could.commutes(touch.effect)
                && !self
                    .awaited_end(trace, race)
                    .is_some_and(|end| self.precedes(end, access.oldest))
        };
        let mut next = self.accesses.newest_of(touch.object);
        while let Some(access) = self.accesses.get(next)
            && (access.step > race.first || !is_exclusive(access.effect))
        {
            if *patience == 0 || counts(access) {
                return true;
            }
            *patience -= 1;
            next = access.next;
        }
        // The accesses do not include the operations that are blocked at the end.
        is_awaited_at_end(trace, race, touch)
    }
}

/// Whether the race's second step acquires a lock exclusively by `touch`, and a shared holder
/// releases this lock in the first step.
fn awaits_leaving(trace: &Trace, race: Race, touch: Touch) -> bool {
    let mut left = trace.touches_of(race.first as usize).iter();
    touch.effect == Effect::Acquire
        && left.any(|left| left.object == touch.object && left.effect == Effect::Leave)
}

/// The touch of a task that begins to wait for the lock that it later acquires by `touch`.
fn queue_at(touch: Touch) -> Touch {
    Touch {
        effect: Effect::Queue,
        could: Effect::Queue,
        ..touch
    }
}

/// Whether `touch`, by the task of the race's second step, conflicts with the operation in which
/// another task is blocked at the end.
fn is_awaited_at_end(trace: &Trace, race: Race, touch: Touch) -> bool {
    let task = trace.steps[race.second as usize].task;
    let steps = trace.steps.iter().enumerate().rev();
    let mut blocked = steps.take_while(|(_, step)| step.decision == TraceStep::NEVER);
    blocked.any(|(at, step)| {
        let mut touches = trace.touches_of(at).iter();
        step.task != task
            && touches
                .any(|other| other.object == touch.object && !other.could.commutes(touch.effect))
    })
}
