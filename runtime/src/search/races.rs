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

/// An access to an object.
#[derive(Clone, Copy)]
struct Access {
    step: u32,
    task: u32,
    effect: Effect,
}

const NOTHING: u32 = u32::MAX;

/// An access since the last exclusive one of its object.
#[derive(Clone, Copy)]
struct Entry {
    access: Access,
    next: u32,
}

/// The accesses of one object from an exclusive one to the next.
#[derive(Clone, Copy)]
struct Epoch {
    /// The access that begins it: nothing before it matters to most that come later.
    exclusive: Access,
    /// Those since then: the newest of each task and effect, as a list.
    since: u32,
    /// The epoch before.
    older: u32,
}

/// Before an object's first exclusive access.
const UNTOUCHED: Epoch = Epoch {
    exclusive: Access {
        step: NOTHING,
        task: NOTHING,
        effect: Effect::Write,
    },
    since: NOTHING,
    older: NOTHING,
};

/// Four numbers of a vector clock: so many are compared at once.
type Lane = [u32; 4];
const LANE: usize = 4;

/// The happens-before of one trace. Kept for its memory.
pub(super) struct HappensBefore {
    /// How many lanes a vector clock has.
    lanes: usize,
    /// A row for each step: of each task, how many steps of the trace one has to
    /// look at for all that happened before.
    clocks: EngineVec<Lane>,
    /// Of each step, where its task's turn began.
    turns: EngineVec<u32>,
    /// Each task's newest step.
    newest: EngineVec<u32>,
    /// The step before the one at hand of its task.
    previous: u32,
    /// Whether the races of the step at hand are looked for.
    is_fresh: bool,
    /// Whether a step races also with one that only lets it go on, where its task
    /// has steps between the two: it could have come to wait sooner, and switching
    /// away from a task that waits is free.
    waits_too: bool,
    /// Each object's newest epoch.
    epochs: EngineVec<Epoch>,
    /// Those before, of all objects.
    older: EngineVec<Epoch>,
    entries: EngineVec<Entry>,
    candidates: EngineVec<u32>,
    /// The steps that the one at hand had to wait for.
    enabling: EngineVec<u32>,
    pub(super) races: EngineVec<Race>,
}

impl HappensBefore {
    pub(super) const fn new(waits_too: bool) -> Self {
        Self {
            lanes: 0,
            clocks: engine_vec(),
            turns: engine_vec(),
            newest: engine_vec(),
            previous: NOTHING,
            is_fresh: false,
            waits_too,
            epochs: engine_vec(),
            older: engine_vec(),
            entries: engine_vec(),
            candidates: engine_vec(),
            enabling: engine_vec(),
            races: engine_vec(),
        }
    }

    /// Whether `earlier` is `later`, or happened before it.
    #[inline]
    pub(super) fn precedes(&self, trace: &Trace, earlier: u32, later: u32) -> bool {
        self.knows(later, trace.steps[earlier as usize].task.0, earlier)
    }

    /// Where the turn of the task of `step` began: the first of its steps with no other
    /// task's between them.
    #[inline]
    pub(super) fn turn_of(&self, step: u32) -> u32 {
        self.turns[step as usize]
    }

    /// Reads `trace`: afterwards [`Self::races`] are its races.
    pub(super) fn read(&mut self, trace: &Trace) {
        self.read_fresh(trace, 0);
    }

    /// As [`Self::read`], without the races whose second step comes before `fresh`.
    pub(super) fn read_fresh(&mut self, trace: &Trace, fresh: usize) {
        let tasks = trace.steps.iter().map(|step| step.task.0 as usize + 1);
        let tasks = tasks.max().unwrap_or(0);
        self.lanes = tasks.div_ceil(LANE);
        // Each row is written before it is read.
        let lanes = trace.steps.len() * self.lanes;
        if self.clocks.len() < lanes {
            self.clocks.resize(lanes, [0; LANE]);
        }
        self.newest.clear();
        self.newest.resize(tasks, NOTHING);
        self.turns.clear();
        self.turns.reserve(trace.steps.len());
        self.epochs.clear();
        self.older.clear();
        self.entries.clear();
        self.races.clear();
        for at in 0..trace.steps.len() {
            self.is_fresh = at >= fresh;
            self.read_step(trace, at);
        }
    }

    fn read_step(&mut self, trace: &Trace, at: usize) {
        let step = &trace.steps[at];
        let own = step.task.0;
        self.previous = core::mem::replace(&mut self.newest[own as usize], at as u32);
        let goes_on = at > 0 && self.previous == at as u32 - 1;
        let turn = if goes_on {
            self.turns[at - 1]
        } else {
            at as u32
        };
        self.turns.push(turn);
        self.begin_row(at, own);
        if step.waker != TraceStep::NONE {
            self.join(at, step.waker);
        }
        self.candidates.clear();
        self.enabling.clear();
        for touch in trace.touches_of(at) {
            self.read_touch(step, at as u32, *touch);
        }
        if !self.candidates.is_empty() {
            self.keep_immediate(trace, at as u32);
        }
    }

    fn read_touch(&mut self, step: &TraceStep, at: u32, touch: Touch) {
        let object = touch.object.0 as usize;
        if object >= self.epochs.len() {
            self.epochs.resize(object + 1, UNTOUCHED);
        }
        let newest = self.epochs[object];
        let mine = self.meet_epoch(step, at, touch.effect, newest);
        let mut epoch = newest;
        // What only woke the task hides nothing that came before.
        while epoch.exclusive.step == step.waker && epoch.older != NOTHING {
            epoch = self.older[epoch.older as usize];
            self.meet_epoch(step, at, touch.effect, epoch);
        }
        if step.decision == TraceStep::NEVER {
            return;
        }
        let access = Access {
            step: at,
            task: step.task.0,
            effect: touch.effect,
        };
        if matches!(touch.effect, Effect::Write | Effect::Acquire) {
            self.epochs[object] = Epoch {
                exclusive: access,
                since: NOTHING,
                older: self.older.len() as u32,
            };
            self.older.push(newest);
        } else if mine != NOTHING {
            self.entries[mine as usize].access.step = at;
        } else {
            self.epochs[object].since = self.entries.len() as u32;
            self.entries.push(Entry {
                access,
                next: newest.since,
            });
        }
    }

    /// The step `at` meets all accesses of an epoch; its own task's entry of the
    /// same effect, if there is one.
    #[inline]
    fn meet_epoch(&mut self, step: &TraceStep, at: u32, effect: Effect, epoch: Epoch) -> u32 {
        let own = step.task.0;
        let (mut mine, mut entry) = (NOTHING, epoch.since);
        while entry != NOTHING {
            let Entry { access, next } = self.entries[entry as usize];
            if access.task != own {
                self.meet(step, at, effect, access);
            } else if access.effect == effect {
                mine = entry;
            }
            entry = next;
        }
        if epoch.exclusive.step != NOTHING && epoch.exclusive.task != own {
            self.meet(step, at, effect, epoch.exclusive);
        }
        mine
    }

    /// The step `at` touches what another task's earlier one has touched.
    #[inline]
    fn meet(&mut self, step: &TraceStep, at: u32, effect: Effect, other: Access) {
        let relation = effect.depends(other.effect);
        if relation == Dependence::None {
            return;
        }
        if self.is_fresh {
            self.judge(step, at, relation, other);
        }
        if !self.knows(at, other.task, other.step) {
            self.join(at as usize, other.step);
        }
    }

    /// Whether the step `at` races with the earlier one `other`, of which it depends.
    #[inline]
    fn judge(&mut self, step: &TraceStep, at: u32, relation: Dependence, other: Access) {
        if relation == Dependence::Enables {
            self.enabling.push(other.step);
        }
        if self.is_known(step, other) {
            return;
        }
        if relation != Dependence::Enables && step.waker != other.step {
            self.candidates.push(other.step);
        } else if self.waits_too && self.previous != NOTHING && self.previous > other.step {
            self.races.push(Race {
                first: other.step,
                second: at,
            });
        }
    }

    /// Whether `other` happened before `step` already by what its task did and was
    /// woken by.
    #[inline]
    fn is_known(&self, step: &TraceStep, other: Access) -> bool {
        let knows = |earlier| self.knows(earlier, other.task, other.step);
        let woken = step.waker != TraceStep::NONE && !step.retries;
        self.previous != NOTHING && knows(self.previous) || woken && knows(step.waker)
    }

    /// Whether the step numbered `earlier`, of `task`, is `later` or happened before it,
    /// as far as is known.
    #[inline]
    fn knows(&self, later: u32, task: u32, earlier: u32) -> bool {
        let lane = later as usize * self.lanes + task as usize / LANE;
        self.clocks[lane][task as usize % LANE] > earlier
    }

    /// Begins the row of the step `at`, of the task `own`, with what happened before
    /// the task's previous step. Lanes are written whole: the processor stalls where
    /// a word is written in parts and then read at once.
    #[inline]
    fn begin_row(&mut self, at: usize, own: u32) {
        let (known, row) = self.clocks.split_at_mut(at * self.lanes);
        let row = &mut row[..self.lanes];
        if self.previous == NOTHING {
            row.fill([0; LANE]);
        } else {
            row.copy_from_slice(&known[self.previous as usize * self.lanes..][..self.lanes]);
        }
        let lane = &mut row[own as usize / LANE];
        let place = own as usize % LANE;
        *lane = core::array::from_fn(|at_lane| match at_lane == place {
            true => at as u32 + 1,
            false => lane[at_lane],
        });
    }

    /// What happened before the step `earlier` happened before the step `at`.
    #[inline]
    fn join(&mut self, at: usize, earlier: u32) {
        let (known, row) = self.clocks.split_at_mut(at * self.lanes);
        let from = &known[earlier as usize * self.lanes..][..self.lanes];
        for (lane, known) in row[..self.lanes].iter_mut().zip(from) {
            *lane = core::array::from_fn(|task| known[task].max(lane[task]));
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
