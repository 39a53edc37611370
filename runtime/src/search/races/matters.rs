//! Which conflicts of a step are races, and which races may make a difference.

use super::{Access, Entry, HappensBefore, NOTHING, Race};
use crate::execution::{Touch, Trace, TraceStep};

/// So many accesses are looked at to see whether a race matters.
const PATIENCE: u32 = 64;

impl HappensBefore {
    /// Of the candidates, those that no other one happened after race with `second`.
    pub(super) fn keep_immediate(&mut self, trace: &Trace, second: u32) {
        for place in 0..self.candidates.len() {
            let first = self.candidates[place].step;
            let mut others = self.candidates.iter().enumerate();
            let hidden = others.any(|(at, other)| {
                if other.step == first {
                    // The same step, met twice.
                    at < place
                } else {
                    other.hides && self.precedes(trace, first, other.step)
                }
            });
            // Without the first step there would be no such release; the lock is then
            // free only if it was that step that took it.
            let needed = |&release: &u32| {
                trace.steps[release as usize].task != trace.steps[first as usize].task
                    && self.precedes(trace, first, release)
            };
            if !hidden && (self.waits_too || !self.enabling.iter().any(needed)) {
                self.races.push(Race {
                    first,
                    second,
                    waits: false,
                });
            }
        }
    }

    /// Whether it may matter that a race is turned round. That a task comes to wait
    /// sooner does only if what it did in between conflicts with what others did since
    /// then, and not after they had waited for its end.
    pub(in crate::search) fn matters(&self, trace: &Trace, race: Race) -> bool {
        if !race.waits {
            return true;
        }
        let mut patience = PATIENCE;
        let end = self.awaited_end(trace, race);
        let mut step = self.places[race.second as usize].previous;
        while step != NOTHING && step > race.first {
            for touch in trace.touches_of(step as usize) {
                if self.conflicts(trace, race, *touch, end, &mut patience) {
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
            let joined = self.epochs[touch.object.0 as usize].exclusive.step;
            let joins = joined != NOTHING && joined > last && trace.steps[joined as usize].joins;
            joins.then_some(joined)
        })
    }

    /// Whether `touch`, by the task of the race's second step, conflicts with what others
    /// did since the first one and not after `end`; yes if this takes too long.
    fn conflicts(
        &self,
        trace: &Trace,
        race: Race,
        touch: Touch,
        end: Option<u32>,
        patience: &mut u32,
    ) -> bool {
        let task = trace.steps[race.second as usize].task.0;
        let counts = |access: Access, oldest| {
            access.step > race.first
                && access.task != task
                && !access.effect.commutes(touch.effect)
                && !end.is_some_and(|end| self.precedes(trace, end, oldest))
        };
        let mut epoch = self.epochs[touch.object.0 as usize];
        loop {
            let mut entry = epoch.since;
            while entry != NOTHING {
                let Entry {
                    access,
                    oldest,
                    next,
                } = self.entries[entry as usize];
                if *patience == 0 || counts(access, oldest) {
                    return true;
                }
                *patience -= 1;
                entry = next;
            }
            let exclusive = epoch.exclusive;
            if exclusive.step == NOTHING || exclusive.step <= race.first {
                break;
            }
            if *patience == 0 || counts(exclusive, exclusive.step) {
                return true;
            }
            *patience -= 1;
            epoch = self.older[epoch.older as usize];
        }
        // What is blocked at the end is not among them.
        let steps = trace.steps.iter().enumerate().rev();
        let mut blocked = steps.take_while(|(_, step)| step.decision == TraceStep::NEVER);
        blocked.any(|(at, step)| {
            let mut touches = trace.touches_of(at).iter();
            step.task.0 != task
                && touches.any(|other| {
                    other.object == touch.object && !other.effect.commutes(touch.effect)
                })
        })
    }
}
