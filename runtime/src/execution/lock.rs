//! Locks: holders, acquisition, and waiting tasks.
//!
//! If a task cannot acquire a lock, it is already disabled at the scheduling point before the
//! acquisition (CHESS section 3.4: try and wait). So the search never switches to a task only to
//! find it blocked. There is one exception: a writer that finds a read-write lock read-locked makes
//! a step that enters the queue of the lock. New readers then wait for this writer.

use super::crash::may_crash;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{running, with};
use super::scheduling_point::Arrival;
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::{Mode, Site, Step};
use super::{Effect, Op, TaskId, invariant, set_aside};
use crate::search::ObjectId;

/// The number of tasks that have a bit of their own in the set of contenders of a lock.
const OWN_BITS: usize = u64::BITS as usize;

impl Execution {
    /// Whether a lock can be acquired in this mode now.
    pub(super) fn is_free(&self, object: ObjectId, mode: Mode) -> bool {
        let lock = self.objects.get(object);
        match mode {
            Mode::Exclusive => lock.owner.is_none() && lock.shared == 0,
            Mode::Shared => lock.owner.is_none() && lock.queued_writers == 0,
        }
    }

    /// Whether a task whose next operation acquires the lock can make a step: acquire the lock, or
    /// enter its queue. `queued` states whether the task is in the queue already.
    fn is_passable(&self, object: ObjectId, mode: Mode, queued: bool) -> bool {
        let enters_queue =
            mode == Mode::Exclusive && self.objects.get(object).shared > 0 && !queued;
        enters_queue || self.is_free(object, mode)
    }

    /// Enables and disables the tasks that contend for a lock whose state changed.
    #[inline]
    fn review(&mut self, object: ObjectId) {
        let lock = self.objects.get(object);
        let current = self.schedule.current.0 % u64::BITS;
        if lock.contenders == 0 || lock.contending == 1 << current && self.schedule.live <= OWN_BITS
        {
            return;
        }
        self.review_contenders(object);
    }

    #[inline(never)]
    fn review_contenders(&mut self, object: ObjectId) {
        let mut tasks = self.objects.get(object).contending;
        while tasks != 0 {
            let mut task = tasks.trailing_zeros();
            tasks &= tasks - 1;
            while (task as usize) < self.schedule.live {
                self.review_contender(TaskId(task), object);
                task += u64::BITS;
            }
        }
    }

    #[inline]
    fn review_contender(&mut self, task: TaskId, object: ObjectId) {
        let contender = self.task(task);
        let Some(Wait::Lock(at, mode)) = contender.awaits else {
            return;
        };
        if at != object || task == self.schedule.current {
            return;
        }
        let is_passable = self.is_passable(object, mode, contender.queued);
        match contender.state {
            State::Runnable if !is_passable => {
                self.task_mut(task).state = State::Blocked(Wait::Lock(object, mode));
                self.schedule.enabled.remove(task);
                let by = self.schedule.current;
                self.schedule.fairness.disabled(task, by);
            }
            State::Blocked(_) if is_passable => self.wake(task, super::Wake::Notified),
            _ => {}
        }
    }

    /// The scheduling point of the current task before it acquires a lock.
    fn arrive_to_acquire(&mut self, op: Op, object: ObjectId, mode: Mode, site: Site) -> Step {
        self.contend(object, mode);
        let arrival = self.announce(op, object, Some(site));
        self.arrived_to_acquire(object, mode, arrival)
    }

    /// Records that the next operation of the current task acquires a lock.
    pub(super) fn contend(&mut self, object: ObjectId, mode: Mode) {
        let lock = self.objects.get_mut(object);
        lock.contenders += 1;
        lock.contending |= 1 << (self.schedule.current.0 % u64::BITS);
        self.running().awaits = Some(Wait::Lock(object, mode));
    }

    /// Decides the next step, after an operation of the current task that acquires a lock was
    /// announced. Blocks the task if it can neither acquire the lock nor enter its queue.
    pub(super) fn arrived_to_acquire(
        &mut self,
        object: ObjectId,
        mode: Mode,
        arrival: Arrival,
    ) -> Step {
        if !self.is_passable(object, mode, false) {
            self.block(Wait::Lock(object, mode), None);
            return self.decide(false);
        }
        match arrival {
            Arrival::Point => self.decide(false),
            Arrival::Spin => self.arrive_again(),
            Arrival::Inside => self.inside_step(),
        }
    }

    /// Blocks the current task at a lock that it cannot acquire. Before that, a writer enters the
    /// queue of the lock, unless it is already there.
    pub(super) fn enter_queue(&mut self, object: ObjectId, mode: Mode) -> Step {
        if mode == Mode::Exclusive && !core::mem::replace(&mut self.running().queued, true) {
            self.objects.get_mut(object).queued_writers += 1;
            self.touch(object, Effect::Queue);
            self.review(object);
        }
        self.block(Wait::Lock(object, mode), None);
        self.decide(false)
    }

    /// Records that the current task now holds the lock.
    fn take(&mut self, op: Op, object: ObjectId, mode: Mode, site: Site) -> Step {
        self.hold(object, mode, Some(site));
        self.record(op, object, op.effect(), Some(site))
    }

    /// As [`Self::take`], without an event.
    pub(super) fn hold(&mut self, object: ObjectId, mode: Mode, site: Option<Site>) {
        let current = self.schedule.current;
        let contended = self.running().awaits.take().is_some();
        let queued = core::mem::replace(&mut self.running().queued, false);
        let lock = self.objects.get_mut(object);
        lock.contenders -= u32::from(contended);
        if lock.contenders == 0 || self.schedule.live <= OWN_BITS {
            lock.contending &= !(1 << (current.0 % u64::BITS));
        }
        lock.queued_writers -= u32::from(queued);
        lock.held_at = site;
        match mode {
            Mode::Exclusive => lock.owner = Some(current),
            Mode::Shared => lock.shared += 1,
        }
        self.review(object);
        if Hooks::is_ordered() {
            let address = self.objects.get(object).address;
            Hooks::acquired(address, mode == Mode::Exclusive);
        }
    }

    /// Records that the lock is released.
    pub(super) fn drop_lock(&mut self, object: ObjectId, mode: Mode) {
        if Hooks::is_ordered() {
            let lock = self.objects.get(object);
            let (op, to_all) = (self.schedule.tasks.running().op, mode == Mode::Exclusive);
            Hooks::released(lock.address, to_all, op, lock.held_at);
        }
        let lock = self.objects.get_mut(object);
        match mode {
            Mode::Exclusive => lock.owner = None,
            Mode::Shared => lock.shared = lock.shared.saturating_sub(1),
        }
        self.review(object);
    }

    pub(super) fn held_at(&self, object: ObjectId) -> Option<Site> {
        self.objects.get(object).held_at
    }
}

/// Acquires the lock at `object` for the calling task. There is a scheduling point before that,
/// which the task passes only when the lock is free for `mode`.
pub fn acquire(op: Op, object: usize, mode: Mode, site: Site) {
    let Some(execution) = running() else { return };
    may_crash(execution, op, Some(site));
    let object = execution.object(object);
    execution.step(|it| it.arrive_to_acquire(op, object, mode, site));
    while !execution.with(|it| it.is_free(object, mode)) {
        execution.step(|it| it.enter_queue(object, mode));
    }
    execution.step(|it| it.take(op, object, mode, site));
    invariant::check(execution);
    set_aside::look(execution, true);
}

/// Reaches a scheduling point, and then tries to acquire the lock at `object`. Returns whether the
/// task acquired the lock. Returns `true` outside an execution.
pub fn try_acquire(op: Op, object: usize, mode: Mode, site: Site) -> bool {
    let Some(execution) = running() else {
        return true;
    };
    may_crash(execution, op, Some(site));
    let object = execution.object(object);
    execution.step(|it| it.arrive(op, object, Some(site)));
    let free = execution.step_and(|it| {
        it.log.trace.tries_to_read |= mode == Mode::Shared;
        let free = it.is_free(object, mode);
        let step = if free {
            it.take(op, object, mode, site)
        } else {
            it.record(op, object, Effect::Fail, Some(site))
        };
        (step, free)
    });
    invariant::check(execution);
    set_aside::look(execution, true);
    free
}

/// Reaches a scheduling point, and then releases the lock at `object`. Waiting tasks become
/// enabled. `unlock` releases the real lock, and must neither panic nor reach a scheduling point.
/// There is no `site`, because a drop does not know the line of its caller. The event shows the
/// line where the lock was acquired.
#[inline]
pub fn release(op: Op, object: usize, mode: Mode, unlock: impl FnOnce()) {
    let object = release_point(op, object);
    unlock();
    if let Some(object) = object {
        released(op, object, mode);
    }
}

fn release_point(op: Op, object: usize) -> Option<ObjectId> {
    let execution = running()?;
    let object = execution.object(object);
    execution.step(|it| {
        let site = it.held_at(object);
        it.arrive(op, object, site)
    });
    Some(object)
}

fn released(op: Op, object: ObjectId, mode: Mode) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        let site = it.held_at(object);
        it.record(op, object, op.effect(), site)
    });
    execution.with(|it| it.drop_lock(object, mode));
    invariant::check(execution);
    set_aside::look(execution, true);
}

/// Reaches a scheduling point. After it, the task holds the lock at `object` shared instead of
/// exclusively. `change` changes the real lock.
#[inline]
pub fn downgrade(op: Op, object: usize, change: impl FnOnce()) {
    let object = release_point(op, object);
    change();
    if let Some(object) = object {
        downgraded(op, object);
    }
}

fn downgraded(op: Op, object: ObjectId) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        it.objects.get_mut(object).shared += 1;
        let site = it.held_at(object);
        it.record(op, object, op.effect(), site)
    });
    execution.with(|it| it.drop_lock(object, Mode::Exclusive));
    invariant::check(execution);
    set_aside::look(execution, true);
}

/// Reaches a scheduling point, and then calls `clear`. The closure clears the poison of the lock at
/// `object`, and returns whether the lock was poisoned.
///
/// If the task holds the lock exclusively, the change counts as a release: only the next holder of
/// the lock can observe the change, and this holder comes after the release of the lock anyway. If
/// the change counted as a write, it would come between the acquisitions of the two holders, and
/// hide the race of these acquisitions.
pub fn clear_poison(object: usize, site: Site, clear: impl FnOnce() -> bool) {
    super::access_with(Op::ClearPoison, object, Some(site), || {
        let effect = if clear() {
            effect_of_cleared_poison(object)
        } else {
            Effect::Read
        };
        ((), effect)
    });
    if let Some(execution) = running() {
        invariant::check(execution);
    }
}

fn effect_of_cleared_poison(object: usize) -> Effect {
    with(|execution| {
        let object = execution.object(object);
        let lock = execution.objects.get(object);
        if lock.owner == Some(execution.schedule.current) {
            return Effect::Release;
        }
        // The current task may be one of the shared holders. No effect expresses that the other
        // shared holders observe the change at once, but a writer only after all of them have
        // left.
        execution.log.trace.is_irregular |= lock.shared > 0;
        Effect::Write
    })
    .unwrap_or(Effect::Write)
}
