//! Happens-before over the steps of a trace, and the races in it.
//!
//! Two steps of different tasks race if they depend on each other, could change
//! places, and nothing between them orders them (Abdulla, Aronis, Jonsson and
//! Sagonas, POPL'14, section 3; for locks it is the two acquisitions that race,
//! and not a release with the acquisition that it lets through).

use crate::execution::{Dependence, Effect, Touch, Trace, TraceStep};
use crate::platform::memory::{EngineVec, engine_vec};

/// Two steps that race, the earlier one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Race {
    pub(super) first: u32,
    pub(super) second: u32,
}

/// An access since the last exclusive one of its object.
#[derive(Clone, Copy)]
struct Entry {
    step: u32,
    task: u32,
    effect: Effect,
    next: u32,
}

const NOTHING: u32 = u32::MAX;

/// The accesses of one object from an exclusive one to the next.
#[derive(Clone, Copy)]
struct Epoch {
    /// The step that begins it: nothing before it matters to most that come later.
    exclusive: u32,
    effect: Effect,
    /// Those since then: the newest of each task and effect, as a list.
    since: u32,
    /// The epoch before.
    older: u32,
}

/// Before an object's first exclusive access.
const UNTOUCHED: Epoch = Epoch {
    exclusive: NOTHING,
    effect: Effect::Write,
    since: NOTHING,
    older: NOTHING,
};

/// The happens-before of one trace. Kept for its memory.
pub(super) struct HappensBefore {
    /// How many tasks the trace has: the length of a vector clock.
    tasks: usize,
    /// A row for each step: of each task, how many steps of the trace one has to
    /// look at for all that happened before.
    clocks: EngineVec<u32>,
    /// Each task's newest step.
    newest: EngineVec<u32>,
    /// The step before the one at hand of its task.
    previous: u32,
    /// Whether a step races also with one that only lets it go on, where its task
    /// has steps between the two: it could have come to wait sooner, and switching
    /// away from a task that waits is free.
    waits_too: bool,
    /// Each object's newest epoch.
    newest_epochs: EngineVec<u32>,
    epochs: EngineVec<Epoch>,
    entries: EngineVec<Entry>,
    candidates: EngineVec<u32>,
    /// The steps that the one at hand had to wait for.
    enabling: EngineVec<u32>,
    pub(super) races: EngineVec<Race>,
}

impl HappensBefore {
    pub(super) const fn new(waits_too: bool) -> Self {
        Self {
            tasks: 0,
            clocks: engine_vec(),
            newest: engine_vec(),
            previous: NOTHING,
            waits_too,
            newest_epochs: engine_vec(),
            epochs: engine_vec(),
            entries: engine_vec(),
            candidates: engine_vec(),
            enabling: engine_vec(),
            races: engine_vec(),
        }
    }

    /// Whether `earlier` is `later`, or happened before it.
    #[inline]
    pub(super) fn precedes(&self, trace: &Trace, earlier: u32, later: u32) -> bool {
        let task = trace.steps[earlier as usize].task.0 as usize;
        self.clocks[later as usize * self.tasks + task] > earlier
    }

    /// Reads `trace`: afterwards [`Self::races`] are its races.
    pub(super) fn read(&mut self, trace: &Trace) {
        let tasks = trace.steps.iter().map(|step| step.task.0 as usize + 1);
        self.tasks = tasks.max().unwrap_or(0);
        let objects = trace
            .touches
            .iter()
            .map(|touch| touch.object.0 as usize + 1);
        self.clocks.clear();
        self.clocks.resize(trace.steps.len() * self.tasks, 0);
        self.newest.clear();
        self.newest.resize(self.tasks, NOTHING);
        let objects = objects.max().unwrap_or(0);
        self.newest_epochs.clear();
        self.newest_epochs.extend(0..objects as u32);
        self.epochs.clear();
        self.epochs.resize(objects, UNTOUCHED);
        self.entries.clear();
        self.races.clear();
        for at in 0..trace.steps.len() {
            self.read_step(trace, at);
        }
    }

    fn read_step(&mut self, trace: &Trace, at: usize) {
        let step = &trace.steps[at];
        let own = step.task.0 as usize;
        let row = at * self.tasks;
        self.previous = self.newest[own];
        if self.previous != NOTHING {
            self.join(row, self.previous);
        }
        if step.waker != TraceStep::NONE {
            self.join(row, step.waker);
        }
        self.clocks[row + own] = at as u32 + 1;
        self.newest[own] = at as u32;
        self.candidates.clear();
        self.enabling.clear();
        for touch in trace.touches_of(at) {
            self.read_touch(trace, at, *touch);
        }
        self.keep_immediate(trace, at as u32);
    }

    fn read_touch(&mut self, trace: &Trace, at: usize, touch: Touch) {
        let step = &trace.steps[at];
        let object = touch.object.0 as usize;
        let newest = self.newest_epochs[object];
        let mine = self.meet_epoch(trace, at, touch, newest);
        let mut epoch = self.epochs[newest as usize];
        // What only woke the task hides nothing that came before.
        while epoch.exclusive == step.waker && epoch.older != NOTHING {
            self.meet_epoch(trace, at, touch, epoch.older);
            epoch = self.epochs[epoch.older as usize];
        }
        if step.decision == TraceStep::NEVER {
            return;
        }
        if matches!(touch.effect, Effect::Write | Effect::Acquire) {
            self.newest_epochs[object] = self.epochs.len() as u32;
            self.epochs.push(Epoch {
                exclusive: at as u32,
                effect: touch.effect,
                since: NOTHING,
                older: newest,
            });
        } else if mine != NOTHING {
            self.entries[mine as usize].step = at as u32;
        } else {
            let epoch = &mut self.epochs[newest as usize];
            let next = core::mem::replace(&mut epoch.since, self.entries.len() as u32);
            self.entries.push(Entry {
                step: at as u32,
                task: step.task.0,
                effect: touch.effect,
                next,
            });
        }
    }

    /// The step `at` meets all accesses of an epoch; its own task's entry of the
    /// same effect, if there is one.
    fn meet_epoch(&mut self, trace: &Trace, at: usize, touch: Touch, epoch: u32) -> u32 {
        let own = trace.steps[at].task.0;
        let epoch = self.epochs[epoch as usize];
        let (mut mine, mut entry) = (NOTHING, epoch.since);
        while entry != NOTHING {
            let other = self.entries[entry as usize];
            if other.task != own {
                self.meet(trace, at, other.step, touch.effect.depends(other.effect));
            } else if other.effect == touch.effect {
                mine = entry;
            }
            entry = other.next;
        }
        if epoch.exclusive != NOTHING {
            let relation = touch.effect.depends(epoch.effect);
            self.meet(trace, at, epoch.exclusive, relation);
        }
        mine
    }

    /// The step `at` touches what the earlier one `other` has touched.
    fn meet(&mut self, trace: &Trace, at: usize, other: u32, relation: Dependence) {
        let step = &trace.steps[at];
        let task = trace.steps[other as usize].task;
        if relation == Dependence::None || task == step.task {
            return;
        }
        let known = self.is_known(step, task.0 as usize, other);
        let could_wait = self.waits_too && self.previous != NOTHING && self.previous > other;
        let enables = relation == Dependence::Enables || step.waker == other;
        if relation == Dependence::Enables {
            self.enabling.push(other);
        }
        if !known && !enables {
            self.candidates.push(other);
        } else if !known && could_wait {
            self.races.push(Race {
                first: other,
                second: at as u32,
            });
        }
        self.join(at * self.tasks, other);
    }

    /// Whether `other`, of `task`, happened before `step` already by what its task did
    /// and was woken by.
    #[inline]
    fn is_known(&self, step: &TraceStep, task: usize, other: u32) -> bool {
        let knows = |earlier: u32| self.clocks[earlier as usize * self.tasks + task] > other;
        let woken = step.waker != TraceStep::NONE && !step.retries;
        self.previous != NOTHING && knows(self.previous) || woken && knows(step.waker)
    }

    /// What happened before the step `earlier` happened before that of `row`.
    #[inline]
    fn join(&mut self, row: usize, earlier: u32) {
        let (known, rest) = self.clocks.split_at_mut(row);
        let from = &known[earlier as usize * self.tasks..][..self.tasks];
        for (clock, &known) in rest[..self.tasks].iter_mut().zip(from) {
            *clock = known.max(*clock);
        }
    }

    /// Of the candidates, those that no other one happened after race with `second`.
    fn keep_immediate(&mut self, trace: &Trace, second: u32) {
        for place in 0..self.candidates.len() {
            let first = self.candidates[place];
            let mut others = self.candidates.iter().enumerate();
            let hidden = others.any(|(at, &other)| {
                if other == first {
                    // The same step, met twice.
                    at < place
                } else {
                    self.precedes(trace, first, other)
                }
            });
            // Without the first step there would be no such release; the lock is then
            // free only if it was that step that took it.
            let needed = |&release: &u32| {
                trace.steps[release as usize].task != trace.steps[first as usize].task
                    && self.precedes(trace, first, release)
            };
            if !hidden && (self.waits_too || !self.enabling.iter().any(needed)) {
                self.races.push(Race { first, second });
            }
        }
    }
}
