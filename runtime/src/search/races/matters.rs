//! Which conflicts of a step are races, and which races may make a difference.

use super::accesses::{Access, is_exclusive};
use super::{HappensBefore, Met, NOTHING, Race, Role};
use crate::execution::{Effect, Touch, Trace, TraceStep};

/// So many accesses are looked at to see whether a race matters.
const PATIENCE: u32 = 64;

impl HappensBefore {
    /// Of the candidates among the steps that `second` has met, those that no other one
    /// happened after race with it. With `blocked` it has not come to take place.
    #[inline]
    pub(super) fn keep_immediate(&mut self, second: u32, blocked: bool) {
        if let [
            Met {
                step: first, role, ..
            },
        ] = self.met[..]
            && role != Role::Enabling
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

    /// Leaves out of what the step at hand has met elsewhere the steps at which another task
    /// held the lock that it takes: it could not have come before those, so it neither races
    /// with them, nor do they hide the race with the step that took the lock ("may be
    /// co-enabled" of Flanagan and Godefroid, POPL'05). With `blocked` it still waits.
    fn leave_out_held(&mut self, blocked: bool) {
        for place in (0..self.met.len()).rev() {
            let Met { step, at_lock, .. } = self.met[place];
            if !at_lock && self.is_held_at(step, blocked) {
                self.met.remove(place);
            }
        }
    }

    /// Whether another task held what the step at hand takes when `step` was taken: from a
    /// step that took it on, to one that let the step at hand go on; or to the end, where that
    /// step is `blocked` and there is none that would have let it go on.
    fn is_held_at(&self, step: u32, blocked: bool) -> bool {
        let task = |met: &Met| self.places[met.step as usize].task;
        let taking = |met: &&Met| met.at_lock && met.role != Role::Enabling;
        self.met.iter().filter(taking).any(|taken| {
            let is_release = |met: &&Met| {
                met.role == Role::Enabling
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
            if role == Role::Enabling {
                continue;
            }
            let is_kept = self
                .met
                .iter()
                .enumerate()
                .all(|(at, other)| match other.role {
                    // The same step, met twice.
                    Role::Hiding | Role::Candidate if other.step == first => at >= place,
                    Role::Candidate => true,
                    Role::Hiding => !self.precedes(first, other.step),
                    // Without the first step there would be no such release; the lock is then
                    // free only if it was that step that took it.
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

    /// Whether it may matter that a race is turned round. That a task comes to wait
    /// sooner does only if what it did in between, or that it waits, conflicts with what others
    /// did since then, and not after they had waited for its end.
    pub(in crate::search) fn matters(&self, trace: &Trace, race: Race) -> bool {
        if !race.waits {
            return true;
        }
        // Who is blocked at the end for what it takes could take it in its place, and what
        // comes then is not known.
        let mut taken = trace.touches_of(race.second as usize).iter();
        if taken.any(|touch| is_awaited_at_end(trace, race, *touch)) {
            return true;
        }
        let mut patience = PATIENCE;
        // None enters while it waits for those to leave who have.
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

    /// The step in which another task had waited for the end of that of the race's
    /// second step.
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

    /// Whether `touch`, by the task of the race's second step, conflicts with what others
    /// did since the first one, or could have done there, and not after its awaited end; yes if
    /// this takes too long.
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
        // What is blocked at the end is not among them.
        is_awaited_at_end(trace, race, touch)
    }
}

/// Whether it is those that hold a lock together that the race's second step, which takes it by
/// `touch`, waits for: its first one is where one leaves.
fn awaits_leaving(trace: &Trace, race: Race, touch: Touch) -> bool {
    let mut left = trace.touches_of(race.first as usize).iter();
    touch.effect == Effect::Acquire
        && left.any(|left| left.object == touch.object && left.effect == Effect::Leave)
}

/// That a task comes to wait for what it takes by `touch`.
fn queue_at(touch: Touch) -> Touch {
    Touch {
        effect: Effect::Queue,
        could: Effect::Queue,
        ..touch
    }
}

/// Whether `touch`, by the task of the race's second step, conflicts with what another task is
/// blocked in at the end.
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
