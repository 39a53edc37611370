//! Happens-before over the steps of a trace, and the races in it.
//!
//! Two steps of different tasks race if they depend on each other, could change
//! places, and nothing between them orders them (Abdulla, Aronis, Jonsson and
//! Sagonas, POPL'14, section 3; for locks it is the two acquisitions that race,
//! and not a release with the acquisition that it lets through).

mod matters;

use crate::execution::{Dependence, Effect, Touch, Trace, TraceStep};
use crate::platform::memory::{EngineVec, engine_vec};

/// Two steps that race, the earlier one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Race {
    pub(super) first: u32,
    pub(super) second: u32,
    /// The first one only lets the second one go on.
    pub(super) waits: bool,
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
    /// The oldest of that task and effect.
    oldest: u32,
    next: u32,
}

/// A step that may race with the one at hand.
#[derive(Clone, Copy)]
struct Candidate {
    step: u32,
    /// What happened before it does not race, since it comes later. Not where a lock
    /// was only looked at, or something else that who takes the lock looks at: who waits
    /// for it could not have gone on there.
    hides: bool,
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

/// Four numbers of a vector clock: its length is a multiple of so many.
type Lane = [u32; 4];
const LANE: usize = 4;

/// A step of the trace.
#[derive(Clone, Copy)]
struct Place {
    /// The first step of its task's turn: those with no other task's between them,
    /// no yield and no timeout.
    turn: u32,
    task: u32,
    /// The step before it of its task.
    previous: u32,
    /// The number of its vector clock.
    clock: u32,
    /// How many clocks there were before it, and how many changes to take back.
    clocks: u32,
    changes: u32,
}

/// A change that a step made, to be taken back when another trace goes on without it.
#[derive(Clone, Copy)]
enum Change {
    /// A new epoch of this object.
    Epoch(u32),
    /// A new entry of this object's epoch.
    Entry(u32),
    /// The access of this entry is a newer one than that of this step.
    Newer(u32, u32),
}

/// The happens-before of one trace. Kept for its memory.
pub(super) struct HappensBefore {
    /// How many lanes a vector clock has.
    lanes: usize,
    /// Vector clocks: of each task, how many steps of the trace one has to look at
    /// for all that happened before. What a task has done itself is not told, so
    /// that its steps share a clock until they learn of another task's.
    clocks: EngineVec<Lane>,
    places: EngineVec<Place>,
    /// What the steps changed of all that follows.
    changes: EngineVec<Change>,
    /// Each task's newest step.
    newest: EngineVec<u32>,
    /// The step before the one at hand of its task, and its clock.
    previous: u32,
    before: u32,
    /// The clock of the step at hand.
    clock: u32,
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
    candidates: EngineVec<Candidate>,
    /// The steps that the one at hand had to wait for.
    enabling: EngineVec<u32>,
    pub(super) races: EngineVec<Race>,
}

impl HappensBefore {
    pub(super) const fn new(waits_too: bool) -> Self {
        Self {
            lanes: 1,
            clocks: engine_vec(),
            places: engine_vec(),
            changes: engine_vec(),
            newest: engine_vec(),
            previous: NOTHING,
            before: NOTHING,
            clock: NOTHING,
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
        let task = trace.steps[earlier as usize].task;
        if task == trace.steps[later as usize].task {
            earlier <= later
        } else {
            self.knows(self.places[later as usize].clock, task.0, earlier)
        }
    }

    /// Where the turn of the task of `step` began: the first of its steps with no other
    /// task's between them.
    #[inline]
    pub(super) fn turn_of(&self, step: u32) -> u32 {
        self.places[step as usize].turn
    }

    /// Reads `trace`: afterwards [`Self::races`] are its races.
    pub(super) fn read(&mut self, trace: &Trace) {
        self.read_on(trace, 0, 0);
    }

    /// As [`Self::read`], without the races whose second step comes before `fresh`. The
    /// first `shared` steps are those of the trace that was read last.
    pub(super) fn read_on(&mut self, trace: &Trace, shared: usize, fresh: usize) {
        let shared = shared.min(fresh);
        while self.places.len() > shared {
            self.take_back();
        }
        self.places.reserve(trace.steps.len() - self.places.len());
        self.races.clear();
        for at in self.places.len()..trace.steps.len() {
            self.is_fresh = at >= fresh;
            self.read_step(trace, at);
        }
    }

    /// Takes back the last step that was read.
    fn take_back(&mut self) {
        let Some(place) = self.places.pop() else {
            return;
        };
        for at in (place.changes as usize..self.changes.len()).rev() {
            match self.changes[at] {
                Change::Epoch(object) => {
                    self.epochs[object as usize] = self.older.pop().expect("it is older");
                }
                Change::Entry(object) => {
                    let entry = self.entries.pop().expect("it was added");
                    self.epochs[object as usize].since = entry.next;
                }
                Change::Newer(entry, step) => self.entries[entry as usize].access.step = step,
            }
        }
        self.changes.truncate(place.changes as usize);
        self.clocks.truncate(place.clocks as usize * self.lanes);
        self.newest[place.task as usize] = place.previous;
    }

    #[inline]
    fn read_step(&mut self, trace: &Trace, at: usize) {
        let step = &trace.steps[at];
        let own = step.task.0 as usize;
        if own >= self.newest.len() {
            self.add_tasks(own + 1);
        }
        let clocks = (self.clocks.len() / self.lanes) as u32;
        let changes = self.changes.len() as u32;
        self.previous = core::mem::replace(&mut self.newest[own], at as u32);
        let mut turn = at as u32;
        if let Some(&previous) = self.places.get(self.previous as usize) {
            self.before = previous.clock;
            // Before a step that timed out its task could not go on.
            let goes_on = !trace.steps[self.previous as usize].yields && !step.timed;
            if self.previous + 1 == turn && goes_on {
                turn = previous.turn;
            }
        } else {
            self.before = self.add_clock();
        }
        self.clock = self.before;
        if step.waker != TraceStep::NONE {
            let task = trace.steps[step.waker as usize].task.0;
            self.learn(task, step.waker);
        }
        if step.comes_last {
            self.learn_all(own);
            self.before = self.clock;
        }
        let touches = trace.touches_of(at);
        if !touches.is_empty() {
            self.candidates.clear();
            self.enabling.clear();
            for touch in touches {
                self.read_touch(trace, step, at as u32, *touch);
            }
            if !self.candidates.is_empty() {
                self.keep_immediate(trace, at as u32);
            }
        }
        let clock = self.clock;
        self.places.push(Place {
            turn,
            task: step.task.0,
            previous: self.previous,
            clock,
            clocks,
            changes,
        });
    }

    #[inline]
    fn read_touch(&mut self, trace: &Trace, step: &TraceStep, at: u32, touch: Touch) {
        let object = touch.object.0 as usize;
        if object >= self.epochs.len() {
            self.epochs.resize(object + 1, UNTOUCHED);
        }
        let newest = self.epochs[object];
        let mine = self.meet_epoch(trace, step, at, touch.effect, newest);
        let mut epoch = newest;
        // What only woke the task hides nothing that came before.
        while epoch.exclusive.step == step.waker && epoch.older != NOTHING {
            epoch = self.older[epoch.older as usize];
            self.meet_epoch(trace, step, at, touch.effect, epoch);
        }
        if self.waits_too && self.is_fresh {
            self.judge_arrival(step, at, touch, epoch);
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
            self.changes.push(Change::Epoch(touch.object.0));
        } else if mine != NOTHING {
            let access = &mut self.entries[mine as usize].access;
            let before = core::mem::replace(&mut access.step, at);
            self.changes.push(Change::Newer(mine, before));
        } else {
            self.changes.push(Change::Entry(touch.object.0));
            self.epochs[object].since = self.entries.len() as u32;
            self.entries.push(Entry {
                access,
                oldest: at,
                next: newest.since,
            });
        }
    }

    /// The step `at` meets all accesses of an epoch; its own task's entry of the
    /// same effect, if there is one.
    #[inline]
    fn meet_epoch(
        &mut self,
        trace: &Trace,
        step: &TraceStep,
        at: u32,
        effect: Effect,
        epoch: Epoch,
    ) -> u32 {
        let own = step.task.0;
        let (mut mine, mut entry) = (NOTHING, epoch.since);
        while entry != NOTHING {
            let Entry { access, next, .. } = self.entries[entry as usize];
            if access.task != own {
                self.meet(trace, step, at, effect, access);
            } else if access.effect == effect {
                mine = entry;
            }
            entry = next;
        }
        if epoch.exclusive.step != NOTHING && epoch.exclusive.task != own {
            self.meet(trace, step, at, effect, epoch.exclusive);
        }
        mine
    }

    /// The step `at` touches what another task's earlier one has touched.
    #[inline]
    fn meet(&mut self, trace: &Trace, step: &TraceStep, at: u32, effect: Effect, other: Access) {
        let relation = effect.depends(other.effect);
        if relation == Dependence::None {
            return;
        }
        if self.is_fresh {
            self.judge(trace, step, at, effect, other);
        }
        self.learn(other.task, other.step);
    }

    /// Whether the step `at` races with the earlier one `other`, of which it depends.
    #[inline]
    fn judge(&mut self, trace: &Trace, step: &TraceStep, at: u32, effect: Effect, other: Access) {
        let relation = effect.depends(other.effect);
        if relation == Dependence::Enables {
            self.enabling.push(other.step);
        }
        if self.is_known(trace, step, other) {
            return;
        }
        let is_woken = step.waker == other.step && !step.timed;
        if relation != Dependence::Enables && !is_woken {
            let takes = |effect| matches!(effect, Effect::Acquire | Effect::Enter);
            let hides = if takes(effect) {
                other.effect != Effect::Read
            } else {
                let mut touches = trace.touches_of(at as usize).iter();
                !self.waits_too || !touches.any(|touch| takes(touch.effect))
            };
            self.candidates.push(Candidate {
                step: other.step,
                hides,
            });
        } else if self.waits_too && self.previous != NOTHING && self.previous > other.step {
            self.races.push(Race {
                first: other.step,
                second: at,
                waits: true,
            });
        }
    }

    /// A step that takes a lock races also with the one that held it when the task came
    /// for it, and had to wait, even if others took it since then. (As Flanagan and
    /// Godefroid, POPL'05, whose tasks race with their next step in each state. Without a
    /// bound this is not needed: the race would show once the lock is free in time.)
    fn judge_arrival(&mut self, step: &TraceStep, at: u32, touch: Touch, mut epoch: Epoch) {
        if !matches!(touch.effect, Effect::Acquire | Effect::Enter) || self.previous == NOTHING {
            return;
        }
        let came = match step.waker {
            TraceStep::NONE => self.previous,
            waker => self.previous.max(waker),
        };
        let mut is_newest = true;
        while epoch.exclusive.step != NOTHING && epoch.exclusive.step > came {
            epoch = self.older[epoch.older as usize];
            is_newest = false;
        }
        let Access {
            step: first,
            task,
            effect,
        } = epoch.exclusive;
        if !is_newest
            && first != NOTHING
            && task != step.task.0
            && touch.effect.depends(effect) != Dependence::None
            && !self.knows(self.before, task, first)
        {
            self.races.push(Race {
                first,
                second: at,
                waits: true,
            });
        }
    }

    /// Whether `other` happened before `step` already by what its task did and was
    /// woken by.
    #[inline]
    fn is_known(&self, trace: &Trace, step: &TraceStep, other: Access) -> bool {
        let woken = step.waker != TraceStep::NONE && !step.retries && !step.timed;
        self.knows(self.before, other.task, other.step)
            || woken && self.precedes(trace, other.step, step.waker)
    }

    /// Whether `clock` tells of the step `earlier` of another task, `task`.
    #[inline]
    fn knows(&self, clock: u32, task: u32, earlier: u32) -> bool {
        let lane = clock as usize * self.lanes + task as usize / LANE;
        self.clocks[lane][task as usize % LANE] > earlier
    }

    /// The step `earlier` of another task, `task`, happened before the step at hand,
    /// and with it all that happened before.
    #[inline]
    fn learn(&mut self, task: u32, earlier: u32) {
        if !self.knows(self.clock, task, earlier) {
            self.join(task as usize, earlier);
        }
    }

    /// All that was done so far, by tasks other than `own`, happened before the step at hand.
    #[cold]
    fn learn_all(&mut self, own: usize) {
        for task in 0..self.newest.len() {
            let step = self.newest[task];
            if task != own && step != NOTHING {
                self.learn(task as u32, step);
            }
        }
    }

    #[inline(never)]
    fn join(&mut self, task: usize, earlier: u32) {
        let from = self.places[earlier as usize].clock as usize * self.lanes;
        if self.clock == self.before {
            let shared = self.clock as usize * self.lanes;
            self.clock = self.add_clock();
            let own = self.clock as usize * self.lanes;
            self.clocks.copy_within(shared..shared + self.lanes, own);
        }
        let (known, clock) = self.clocks.split_at_mut(self.clock as usize * self.lanes);
        for (lane, known) in clock.iter_mut().zip(&known[from..from + self.lanes]) {
            *lane = core::array::from_fn(|task| known[task].max(lane[task]));
        }
        clock[task / LANE][task % LANE] = earlier + 1;
    }

    /// Begins a clock that tells of nothing.
    fn add_clock(&mut self) -> u32 {
        let clocks = self.clocks.len();
        self.clocks.resize(clocks + self.lanes, [0; LANE]);
        (clocks / self.lanes) as u32
    }

    /// Makes room for so many tasks.
    #[cold]
    fn add_tasks(&mut self, tasks: usize) {
        self.newest.resize(tasks, NOTHING);
        let lanes = tasks.div_ceil(LANE);
        if lanes > self.lanes {
            let mut wider = engine_vec();
            for clock in self.clocks.chunks(self.lanes) {
                wider.extend_from_slice(clock);
                wider.resize(wider.len() + lanes - self.lanes, [0; LANE]);
            }
            self.clocks = wider;
            self.lanes = lanes;
        }
    }
}
