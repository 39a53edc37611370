//! What each act of a program does.

use super::super::{Act, OBJECTS};
use super::{CHANNEL, CONDVAR, LOCK, Machine, OWN, State, THREAD, VALUE, mix, object};
use crate::execution::{Effect, ObjectId, TraceStep};
use crate::search::Strategy;

impl Machine<'_> {
    fn touch(&mut self, object: ObjectId, effect: Effect) {
        self.touch_as(object, effect, effect);
    }

    /// Touches `object`, in another state of which the effect could be another.
    fn touch_as(&mut self, object: ObjectId, effect: Effect, could: Effect) {
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
                    // It does not need the one that woke it.
                    self.tasks[task].waker = TraceStep::NONE;
                }
            }
        }
    }

    fn see(&mut self, value: u64) {
        let task = &mut self.tasks[self.current];
        task.last = value;
        task.seen = mix(task.seen, value + 1);
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

    /// Performs the current task's next act.
    #[expect(clippy::too_many_lines, reason = "a list of what each act does")]
    pub(in super::super) fn step(&mut self, search: &mut dyn Strategy) {
        let own = self.current;
        if let Some(mutex) = self.tasks[own].relocks.take() {
            self.owners[mutex as usize] = Some(own);
            self.touch(object(LOCK, mutex), Effect::Acquire);
            self.tasks[own].at += 1;
            return;
        }
        let Some(act) = self.next(own) else {
            self.tasks[own].state = State::Done;
            return;
        };
        match act {
            Act::Idle => {}
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
            Act::Lock(m) if self.readers[m as usize] > 0 => {
                self.tasks[own].queued = true;
                self.queued[m as usize] += 1;
                self.touch(object(LOCK, m), Effect::Queue);
                return;
            }
            Act::Lock(m) => {
                self.owners[m as usize] = Some(own);
                self.queued[m as usize] -= u32::from(std::mem::take(&mut self.tasks[own].queued));
                self.touch(object(LOCK, m), Effect::Acquire);
            }
            Act::TryLock(m) => {
                let free = self.owners[m as usize].is_none() && self.readers[m as usize] == 0;
                self.see(u64::from(free));
                if free {
                    self.owners[m as usize] = Some(own);
                }
                let effect = [Effect::Read, Effect::Write][usize::from(free)];
                self.touch_as(object(LOCK, m), effect, Effect::Write);
            }
            Act::Unlock(m) => {
                if self.owners[m as usize] == Some(own) {
                    self.owners[m as usize] = None;
                    self.touch(object(LOCK, m), Effect::Release);
                }
            }
            Act::Read(m) => {
                self.readers[m as usize] += 1;
                self.touch(object(LOCK, m), Effect::Enter);
            }
            Act::EndRead(m) => {
                self.readers[m as usize] -= 1;
                self.touch(object(LOCK, m), Effect::Leave);
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
            Act::Send(c) => {
                self.queues[c as usize] += 1;
                self.touch(object(CHANNEL, c), Effect::Write);
                for task in self.waiters(object(CHANNEL, c)) {
                    self.wake(task);
                }
            }
            Act::Recv(c) => {
                if self.queues[c as usize] == 0 {
                    self.touch_as(object(CHANNEL, c), Effect::Read, Effect::Write);
                    self.sleep(object(CHANNEL, c), true);
                    return;
                }
                self.queues[c as usize] -= 1;
                self.touch(object(CHANNEL, c), Effect::Write);
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
            Act::Yield => self.yields = true,
            Act::Await(v, w) => {
                let watched = std::mem::take(&mut self.tasks[own].watches);
                for &value in &[v, w][..watched] {
                    self.touch(object(VALUE, value), Effect::Read);
                }
                if watched > 0 {
                    return;
                }
                let looks_on = self.tasks[own].looks_on.take();
                let which = if looks_on.is_some() { w } else { v };
                self.see(self.values[which as usize]);
                self.touch(object(VALUE, which), Effect::Read);
                let version = self.versions[v as usize];
                if self.values[which as usize] == 0 {
                    if looks_on.is_some() {
                        self.trace.awaits();
                        self.touch(object(VALUE, v), Effect::Read);
                    }
                    if looks_on.is_some_and(|seen| seen != version) {
                        self.yields = true;
                    } else {
                        let task = &mut self.tasks[own];
                        task.watches = 1 + usize::from(looks_on.is_some());
                        task.retries = true;
                        task.state = State::Awaiting;
                    }
                    return;
                }
                if looks_on.is_none() {
                    self.tasks[own].looks_on = Some(version);
                    return;
                }
            }
            Act::Choose(outcomes) => {
                let outcome = self.outcome(outcomes, search);
                self.see(outcome.into());
                self.touch(object(OWN, own as u32), Effect::Write);
            }
            Act::SkipUnlessSeen(acts) => {
                self.touch(object(OWN, own as u32), Effect::Write);
                if self.tasks[own].last == 0 {
                    self.tasks[own].at += acts;
                }
            }
        }
        self.tasks[own].at += 1;
    }
}
