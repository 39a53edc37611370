//! The effect of each act of a program.

use super::super::memory::Memory;
use super::super::{Act, Atomic, BOUNDED, OBJECTS, line_of, seen_after};
use super::{
    ARC, BARRIER, CHANNEL, CONDVAR, END, Initialised, LOCK, Machine, ONCE, OWN, State, THREAD,
    VALUE, object,
};
use crate::{Labelled, ObjectId, Outcomes, Strategy, TraceStep};
use chess_vocabulary::{Effect, Op};

impl Machine<'_> {
    fn touch(&mut self, object: ObjectId, effect: Effect) {
        self.touch_as(object, effect, effect);
    }

    /// Touches `object` with `effect`. The effect could be `could` in another state of the object.
    fn touch_as(&mut self, object: ObjectId, effect: Effect, could: Effect) {
        let touch = self.trace.touches.len() as u32;
        let line = line_of(self.current, self.tasks[self.current].at);
        self.labels.push(Labelled { touch, line });
        self.trace.access(object, effect, could);
        if !effect.is_quiet() && object.0 < OBJECTS as u32 {
            self.versions[object.0 as usize] += 1;
            self.wake_watchers(object.0);
        }
    }

    fn wake_watchers(&mut self, value: u32) {
        for task in 0..self.tasks.len() {
            let Some(Act::Await(v, w)) = self.next(task) else {
                continue;
            };
            if [v, w][..self.tasks[task].watches].contains(&value) {
                if self.tasks[task].state == State::Awaiting {
                    self.wake(task);
                } else {
                    // The task was woken before, and does not depend on the step that woke it.
                    self.tasks[task].waker = TraceStep::NONE;
                }
            }
        }
    }

    fn see(&mut self, value: u64) {
        let task = &mut self.tasks[self.current];
        task.last = value;
        task.seen = seen_after(task.seen, value);
    }

    fn sleep(&mut self, at: ObjectId, retries: bool) {
        let task = &mut self.tasks[self.current];
        task.state = State::Waiting(at);
        task.retries = retries;
    }

    fn wake(&mut self, task: usize) {
        self.tasks[task].state = State::Ready;
        self.tasks[task].waker = self.trace.steps.len() as u32 - 1;
    }

    fn waiters(&self, at: ObjectId) -> Vec<usize> {
        let all = 0..self.tasks.len();
        all.filter(|&task| self.tasks[task].state == State::Waiting(at))
            .collect()
    }

    /// Whether the current task, which has just loaded `value`, must load it again. If so, the
    /// task yields. A task loads the value at most `most` times.
    fn spins_on(&mut self, value: u32, most: u32) -> bool {
        let task = &mut self.tasks[self.current];
        task.loads += 1;
        self.yields = self.values[value as usize] == 0 && task.loads < most;
        if !self.yields {
            task.loads = 0;
        }
        self.yields
    }

    /// Performs the current task's next act.
    #[expect(clippy::too_many_lines, reason = "a list of what each act does")]
    pub fn step(&mut self, search: &mut dyn Strategy) {
        let own = self.current;
        let is_silent = std::mem::take(&mut self.tasks[own].is_silent);
        if let Some(mutex) = self.tasks[own].relocks.take() {
            self.owners[mutex as usize] = Some(own);
            self.touch(object(LOCK, mutex), Effect::Acquire);
            self.tasks[own].at += 1;
            self.choose_within(search);
            return;
        }
        let Some(act) = self.next(own) else {
            self.tasks[own].state = State::Done;
            if self.looks_at_ends {
                self.touch(object(END, own as u32), Op::Exit.effect());
            }
            return;
        };
        match act {
            Act::Idle | Act::UntilIdle => {}
            Act::LoadOneOrBoth(v, w) => {
                self.see(self.values[v as usize]);
                self.touch(object(VALUE, v), Effect::Read);
                if self.values[v as usize] == 0 {
                    self.trace.continue_step();
                    self.see(self.values[w as usize]);
                    self.touch(object(VALUE, w), Effect::Read);
                }
            }
            Act::Load(v) => {
                self.see(self.values[v as usize]);
                self.touch(object(VALUE, v), Effect::Read);
            }
            Act::Store(v, value) => {
                self.values[v as usize] = value;
                self.touch(object(VALUE, v), Effect::Write);
            }
            Act::Add(v) => {
                self.see(self.values[v as usize]);
                self.values[v as usize] += 1;
                self.touch(object(VALUE, v), Effect::Write);
            }
            Act::Exchange(v, from, to) => {
                let succeeds = self.values[v as usize] == from;
                self.see(u64::from(succeeds));
                if succeeds {
                    self.values[v as usize] = to;
                }
                let effect = [Effect::Read, Effect::Write][usize::from(succeeds)];
                self.touch_as(object(VALUE, v), effect, Effect::Write);
            }
            Act::Swap(v, value, releases) => {
                let before = std::mem::replace(&mut self.values[v as usize], value);
                self.see(before);
                let effect = match (before == value, releases) {
                    (false, _) => Effect::Write,
                    (true, false) => Effect::Read,
                    (true, true) => Effect::Rewrite,
                };
                self.touch_as(object(VALUE, v), effect, Effect::Write);
            }
            Act::Lock(_)
            | Act::TryLock(_)
            | Act::Unlock(_)
            | Act::Read(_)
            | Act::TryRead(_)
            | Act::Downgrade(_)
            | Act::EndRead(_) => {
                if !self.step_of_lock(act) {
                    return;
                }
            }
            Act::Wait(c, m) => {
                self.touch(object(CONDVAR, c), Effect::Write);
                self.owners[m as usize] = None;
                self.touch(object(LOCK, m), Effect::Release);
                self.tasks[own].relocks = Some(m);
                self.sleep(object(CONDVAR, c), false);
                return;
            }
            Act::NotifyOne(c) => {
                let waiters = self.waiters(object(CONDVAR, c));
                let chosen = self.outcome(waiters.len() as u32, search);
                if let Some(&task) = waiters.get(chosen as usize) {
                    self.wake(task);
                }
                self.touch(object(CONDVAR, c), Effect::Write);
            }
            Act::NotifyAll(c) => {
                for task in self.waiters(object(CONDVAR, c)) {
                    self.wake(task);
                }
                self.touch(object(CONDVAR, c), Effect::Write);
            }
            Act::Send(_) | Act::TrySend(_) | Act::Recv(_) | Act::TryRecv(_) => {
                if !self.step_of_channel(act) {
                    return;
                }
            }
            Act::Unpark(t) => {
                self.touch(object(THREAD, t), Effect::Release);
                let task = t as usize;
                self.tasks[task].unparks += 1;
                if self.tasks[task].state == State::Waiting(object(THREAD, t)) {
                    self.wake(task);
                }
                if self.tasks[task].unparks > 1 {
                    self.tasks[task].waker = TraceStep::NONE;
                }
            }
            Act::Park => {
                let place = object(THREAD, own as u32);
                if self.tasks[own].unparks == 0 {
                    self.sleep(place, false);
                    return;
                }
                self.touch(place, Effect::Write);
                self.tasks[own].unparks = 0;
            }
            Act::Begin(o, is_shared) => {
                let mut calls = self.calls.iter();
                let overlaps = calls
                    .any(|&(task, of, shares)| task != own && of == o && !(shares && is_shared));
                self.see(u64::from(overlaps));
                self.calls.push((own, o, is_shared));
                let (op, object) = self.operation(own, act);
                self.touch(object, op.effect());
            }
            Act::End(o, is_shared) => {
                let mut calls = self.calls.iter();
                if let Some(place) = calls.position(|it| *it == (own, o, is_shared)) {
                    self.calls.remove(place);
                }
                let (op, object) = self.operation(own, act);
                self.touch(object, op.effect());
            }
            Act::GiveWay => self.yields = true,
            Act::Yield => {
                self.yields = !is_silent;
                self.tasks[own].is_silent = true;
            }
            Act::Spin(v, most) => {
                self.see(self.values[v as usize]);
                self.touch(object(VALUE, v), Effect::Read);
                if self.spins_on(v, most) {
                    return;
                }
            }
            Act::Await(v, w) => {
                let watched = std::mem::take(&mut self.tasks[own].watches);
                for &value in &[v, w][..watched] {
                    self.touch(object(VALUE, value), Effect::Read);
                }
                if watched > 0 {
                    return;
                }
                let first_version = self.tasks[own].first_version.take();
                let which = if first_version.is_some() { w } else { v };
                self.see(self.values[which as usize]);
                self.touch(object(VALUE, which), Effect::Read);
                let version = self.versions[v as usize];
                if self.values[which as usize] == 0 {
                    if first_version.is_some() {
                        self.trace.awaits();
                        self.touch(object(VALUE, v), Effect::Read);
                    }
                    if first_version.is_some_and(|seen| seen != version) {
                        self.yields = true;
                    } else {
                        let task = &mut self.tasks[own];
                        task.watches = 1 + usize::from(first_version.is_some());
                        task.retries = true;
                        task.state = State::Awaiting;
                    }
                    return;
                }
                if first_version.is_none() {
                    self.tasks[own].first_version = Some(version);
                    return;
                }
            }
            Act::Init(_)
            | Act::InitEnd(_)
            | Act::InitSet(_)
            | Act::InitGet(_)
            | Act::InitWait(_)
            | Act::Barrier(_) => {
                if !self.step_of_meeting(act) {
                    return;
                }
            }
            Act::Clone(_)
            | Act::Drop(_)
            | Act::CountOwners(_)
            | Act::Upgrade(_)
            | Act::Unwrap(_) => self.step_of_owner(act),
            Act::IsFinished(t) => {
                let ended = self.tasks.get(t as usize).map(|task| task.state);
                self.see(u64::from(ended == Some(State::Done)));
                self.touch(object(END, t), Op::IsFinished.effect());
            }
            Act::Choose(outcomes) => {
                let outcome = self.outcome(outcomes, search);
                self.see(outcome.into());
                self.touch(object(OWN, own as u32), Effect::Write);
            }
            Act::Atomic(v, access) => self.step_of_atomic(v, access, search),
            Act::Fence(order) => self.memory().fence(own, order),
            Act::SkipUnlessSeen(acts) => {
                self.touch(object(OWN, own as u32), Effect::Write);
                if self.tasks[own].last == 0 {
                    self.tasks[own].at += acts;
                }
            }
            Act::Pick(_) | Act::Rarely | Act::Assume => return self.choose_within(search),
        }
        self.tasks[own].at += 1;
        self.choose_within(search);
    }

    /// Performs the current task's next acts that belong to the same step.
    fn choose_within(&mut self, search: &mut dyn Strategy) {
        let own = self.current;
        while self.tasks[own].state == State::Ready {
            match self.next(own) {
                Some(Act::Pick(outcomes)) => {
                    let outcome = self.outcome_of(outcomes, Outcomes::Data, search);
                    self.see(outcome.into());
                }
                Some(Act::Rarely) => {
                    let outcome = self.outcome_of(2, Outcomes::Rare, search);
                    self.see(outcome.into());
                }
                Some(Act::Assume) if self.tasks[own].last == 0 => {
                    self.tasks[own].state = State::Left;
                }
                Some(Act::Assume) => {}
                _ => return,
            }
            if self.tasks[own].state == State::Ready {
                self.tasks[own].at += 1;
            }
        }
    }

    fn memory(&mut self) -> &mut dyn Memory {
        *self
            .memory
            .as_mut()
            .expect("the machine has a memory model")
    }

    /// Performs an access under the memory model. The search chooses the store that the access
    /// meets.
    fn step_of_atomic(&mut self, v: u32, access: Atomic, search: &mut dyn Strategy) {
        let own = self.current;
        let memory = self.memory.take().expect("the machine has a memory model");
        let current = self.values[v as usize];
        let offered = memory.offer(own, v, access, current, &self.trace);
        let name = |choice| memory.name(v, access, choice);
        let choice = self.outcome_of(offered, Outcomes::Late(&name), search);
        let (read, written) = memory.perform(own, v, access, choice, self.trace.step());
        self.memory = Some(memory);
        if let Some(value) = written.filter(|_| choice == 0) {
            self.values[v as usize] = value;
        }
        if let Some(value) = read {
            self.see(value);
        }
        let effect = match written {
            Some(_) => Effect::Write,
            None => Effect::Read,
        };
        let could = match access {
            Atomic::Load(_) => Effect::Read,
            _ => Effect::Write,
        };
        self.touch_as(object(VALUE, v), effect, could);
    }

    /// Tries to acquire a lock.
    fn try_take(&mut self, op: Op, m: u32, is_free: bool) {
        self.see(u64::from(is_free));
        let effect = if is_free { op.effect() } else { Effect::Fail };
        let strongest = op.strongest_effect().unwrap_or(effect);
        self.touch_as(object(LOCK, m), effect, strongest);
    }

    /// Performs an act on a lock. Returns whether the act is done: if not, the task waits.
    fn step_of_lock(&mut self, act: Act) -> bool {
        let own = self.current;
        match act {
            Act::Lock(m) if self.readers[m as usize] > 0 => {
                self.tasks[own].queued = true;
                self.queued[m as usize] += 1;
                self.touch(object(LOCK, m), Effect::Queue);
                return false;
            }
            Act::Lock(m) => {
                if let Some(memory) = &mut self.memory {
                    memory.lock(own, m);
                }
                self.owners[m as usize] = Some(own);
                self.queued[m as usize] -= u32::from(std::mem::take(&mut self.tasks[own].queued));
                self.touch(object(LOCK, m), Effect::Acquire);
            }
            Act::TryLock(m) => {
                let is_free = self.owners[m as usize].is_none() && self.readers[m as usize] == 0;
                if is_free {
                    self.owners[m as usize] = Some(own);
                }
                self.try_take(Op::RwLockTryWrite, m, is_free);
            }
            Act::Unlock(m) if self.owners[m as usize] == Some(own) => {
                if let Some(memory) = &mut self.memory {
                    memory.unlock(own, m);
                }
                self.owners[m as usize] = None;
                self.touch(object(LOCK, m), Effect::Release);
            }
            Act::Read(m) => {
                self.readers[m as usize] += 1;
                self.tasks[own].reads[m as usize] += 1;
                self.touch(object(LOCK, m), Effect::Enter);
            }
            Act::TryRead(m) => {
                self.trace.tries_to_read = true;
                let is_free = self.owners[m as usize].is_none() && self.queued[m as usize] == 0;
                self.readers[m as usize] += u32::from(is_free);
                self.tasks[own].reads[m as usize] += u32::from(is_free);
                self.try_take(Op::RwLockTryRead, m, is_free);
            }
            Act::Downgrade(m) if self.owners[m as usize] == Some(own) => {
                self.owners[m as usize] = None;
                self.readers[m as usize] += 1;
                self.tasks[own].reads[m as usize] += 1;
                self.touch(object(LOCK, m), Op::RwLockDowngrade.effect());
            }
            Act::EndRead(m) if self.tasks[own].reads[m as usize] > 0 => {
                self.readers[m as usize] -= 1;
                self.tasks[own].reads[m as usize] -= 1;
                self.touch(object(LOCK, m), Effect::Leave);
            }
            _ => {}
        }
        true
    }

    /// Performs an act on a channel. Returns whether the act is done: if not, the task waits.
    fn step_of_channel(&mut self, act: Act) -> bool {
        let (Act::Send(c) | Act::TrySend(c) | Act::Recv(c) | Act::TryRecv(c)) = act else {
            unreachable!("{act:?} is on no channel");
        };
        let place = object(CHANNEL, c);
        let queue = &mut self.queues[c as usize];
        let sends = matches!(act, Act::Send(_) | Act::TrySend(_));
        let tries = matches!(act, Act::TrySend(_) | Act::TryRecv(_));
        let is_possible = if sends {
            c < BOUNDED || *queue == 0
        } else {
            *queue > 0
        };
        match (is_possible, sends) {
            (true, true) => *queue += 1,
            (true, false) => *queue -= 1,
            (false, _) => self.touch_as(place, Effect::Read, Effect::Write),
        }
        if tries {
            self.see(u64::from(is_possible));
        }
        if is_possible {
            self.touch(place, Effect::Write);
            for task in self.waiters(place) {
                self.wake(task);
            }
        } else if !tries {
            self.sleep(place, true);
        }
        is_possible || tries
    }

    /// Performs an act on a barrier, or on an object that is initialised once. Returns whether the
    /// act is done: if not, the task waits.
    fn step_of_meeting(&mut self, act: Act) -> bool {
        let own = self.current;
        match act {
            Act::Init(o) | Act::InitSet(o) => {
                let place = object(ONCE, o);
                let initialised = self.initialised[o as usize];
                if matches!(initialised, Initialised::By(_)) {
                    self.touch_as(place, Effect::Read, Effect::Write);
                    self.sleep(place, true);
                    return false;
                }
                let is_done = initialised == Initialised::Yes;
                self.see(u64::from(is_done));
                let effect = [Effect::Write, Effect::Read][usize::from(is_done)];
                self.touch_as(place, effect, Effect::Write);
                if !is_done && act == Act::Init(o) {
                    self.initialised[o as usize] = Initialised::By(own);
                } else if !is_done {
                    self.initialise(o);
                }
            }
            Act::InitEnd(o) if self.initialised[o as usize] == Initialised::By(own) => {
                self.touch(object(ONCE, o), Effect::Write);
                self.initialise(o);
            }
            Act::InitGet(o) => {
                self.see(u64::from(self.initialised[o as usize] == Initialised::Yes));
                self.touch(object(ONCE, o), Effect::Read);
            }
            Act::InitWait(o) => {
                let place = object(ONCE, o);
                if self.initialised[o as usize] != Initialised::Yes {
                    self.touch_as(place, Effect::Read, Effect::Write);
                    self.sleep(place, true);
                    return false;
                }
                self.touch(place, Effect::Read);
            }
            Act::Barrier(b) => {
                self.touch(object(BARRIER, b), Effect::Write);
                if std::mem::take(&mut self.tasks[own].has_come) {
                    return true;
                }
                let arrived = &mut self.arrived[b as usize];
                *arrived = 1 - *arrived;
                let is_last = *arrived == 0;
                self.see(u64::from(is_last));
                if !is_last {
                    self.tasks[own].has_come = true;
                    self.sleep(object(BARRIER, b), true);
                    return false;
                }
                self.wake_all(object(BARRIER, b));
            }
            _ => {}
        }
        true
    }

    fn initialise(&mut self, o: u32) {
        self.initialised[o as usize] = Initialised::Yes;
        self.wake_all(object(ONCE, o));
    }

    fn wake_all(&mut self, place: ObjectId) {
        for task in self.waiters(place) {
            self.wake(task);
        }
    }

    /// Performs an act on an object with owners.
    fn step_of_owner(&mut self, act: Act) {
        let (Act::Clone(a) | Act::Drop(a) | Act::CountOwners(a) | Act::Upgrade(a) | Act::Unwrap(a)) =
            act
        else {
            unreachable!("{act:?} is on no owner");
        };
        let place = object(ARC, a);
        let own = &mut self.tasks[self.current].owns[a as usize];
        let all = &mut self.owners_of[a as usize];
        let is_owner = *own > 0;
        match act {
            Act::Clone(_) if is_owner => {
                (*own, *all) = (*own + 1, *all + 1);
                self.touch(place, Effect::Update);
            }
            Act::Drop(_) if is_owner => {
                (*own, *all) = (*own - 1, *all - 1);
                let is_last = *all == 0;
                let effect = [Effect::Update, Effect::Write][usize::from(is_last)];
                self.see(u64::from(is_last));
                self.touch_as(place, effect, Effect::Write);
            }
            Act::CountOwners(_) => {
                let count = *all;
                self.see(count.into());
                self.touch(place, Effect::Read);
            }
            Act::Upgrade(_) => {
                let is_there = *all > 0;
                *own += u32::from(is_there);
                *all += u32::from(is_there);
                self.see(u64::from(is_there));
                self.touch(place, Effect::Write);
            }
            Act::Unwrap(_) if is_owner => {
                let is_only = *all == 1;
                if is_only {
                    (*own, *all) = (0, 0);
                }
                self.see(u64::from(is_only));
                self.touch(place, Effect::Write);
            }
            _ => {}
        }
    }
}
