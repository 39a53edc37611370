//! Waiting to be woken: condition variables, channels, barriers, sleeping. For `thread::park`, see
//! `park.rs`.

use super::crash::may_crash;
use super::running::{running, with};
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::{Mode, Site, Step, Wake};
use super::{Effect, Note, Op, TaskId, invariant, set_aside};
use crate::platform::context::call_above_registers;
use crate::search::{ObjectId, Outcomes};

impl Execution {
    /// Records in the trace that the current task begins to wait because it found nothing left at
    /// `object`, from which tasks take things (a channel, for example). Without this, the step
    /// that ends the wait would hide a race: that of the current task's operation with the
    /// operation of the task that took the last thing.
    pub(super) fn record_failed_attempt(&mut self, object: ObjectId) {
        self.log.trace.access(object, Effect::Read, Effect::Write);
    }

    /// Blocks the current task until it is woken or times out.
    pub(super) fn sleep_on(&mut self, wait: Wait, deadline: Option<u64>) -> Step {
        self.block(wait, deadline);
        self.decide(false)
    }

    /// Enables every task that waits on `object`.
    pub(super) fn wake_waiters(&mut self, object: ObjectId) {
        if self.objects.get(object).waiters == 0 {
            return;
        }
        for task in (0..self.schedule.live as u32).map(TaskId) {
            if self.task(task).state == State::Blocked(Wait::Object(object)) {
                self.wake(task, Wake::Notified);
            }
        }
    }

    /// Enables one task that waits on `object`, if there is one. The search chooses the task.
    pub(super) fn wake_a_waiter(&mut self, object: ObjectId) {
        if self.objects.get(object).waiters == 0 {
            return;
        }
        let waits = |task: &super::task::Task| task.state == State::Blocked(Wait::Object(object));
        let count = self.schedule.tasks[..self.schedule.live]
            .iter()
            .filter(|t| waits(t))
            .count();
        let chosen = self.choose_outcome(count as u32, Outcomes::Free) as usize;
        let woken = self
            .live_tasks()
            .filter(|(_, task)| waits(task))
            .nth(chosen);
        if let Some((task, _)) = woken {
            self.wake(task, Wake::Notified);
            self.running().note = Note::wakes(task);
        }
    }
}

/// `Condvar::wait`. After a scheduling point, in one step, `unlock` releases the real mutex and
/// the task begins to wait on `condvar`. Returns before the mutex is locked again. The shim then
/// calls [`super::acquire`] with [`Op::MutexRelock`]. `deadline` is in nanoseconds of
/// [`super::now`].
#[inline]
pub fn condvar_wait(
    op: Op,
    condvar: usize,
    mutex: usize,
    deadline: Option<u64>,
    site: Site,
    unlock: impl FnOnce(),
) -> Wake {
    super::access(op, condvar, site);
    unlock();
    condvar_sleep(condvar, mutex, deadline)
}

fn condvar_sleep(condvar: usize, mutex: usize, deadline: Option<u64>) -> Wake {
    let Some(execution) = running() else {
        return Wake::Spurious;
    };
    let (condvar, spurious) = execution.with(|it| {
        let condvar = it.object(condvar);
        let mutex = it.object(mutex);
        let spurious = it.wakes_spuriously();
        it.drop_lock(mutex, Mode::Exclusive);
        it.touch(mutex, Effect::Release);
        (condvar, spurious)
    });
    invariant::check(execution);
    // The component may also crash during the wait, when the mutex is free.
    may_crash(execution, Op::CondvarWait, None);
    if spurious {
        // The task slept, so continuing with another task costs nothing more.
        execution.step(|it| it.decide(true));
        return Wake::Spurious;
    }
    execution.step(|it| it.sleep_on(Wait::Object(condvar), deadline));
    execution.with(|it| it.running().wake)
}

/// Reaches a scheduling point. Then enables all waiters of `object` if `all` is true. If not,
/// enables one waiter, which the search chooses.
pub fn notify(op: Op, object: usize, all: bool, site: Site) {
    let Some(execution) = running() else { return };
    may_crash(execution, op, Some(site));
    let object = execution.object(object);
    execution.step(|it| it.arrive(op, object, Some(site)));
    execution.step(|it| {
        if all {
            it.wake_waiters(object);
        } else {
            it.wake_a_waiter(object);
        }
        it.record(op, object, op.effect(), Some(site))
    });
    set_aside::look(execution, true);
}

/// Blocks until [`wake_all`] is called for `object` or the deadline passes. There is no scheduling
/// point before the wait: call [`super::before`] first. A shim that keeps its own state, such as
/// that of a barrier, calls this function in a loop that checks the state.
pub fn wait(op: Op, object: usize, deadline: Option<u64>, site: Site) -> Wake {
    let wake = wait_quietly(op, object, deadline, site);
    super::effect(op, object, op.effect(), site);
    wake
}

/// As [`wait`], without an event. The caller records the event when its operation is complete.
pub fn wait_quietly(op: Op, object: usize, deadline: Option<u64>, site: Site) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    execution.step(|it| {
        let object = it.object(object);
        let task = it.running();
        task.op = op;
        task.object = object;
        task.site = Some(site);
        task.retries = true;
        it.sleep_on(Wait::Object(object), deadline)
    });
    execution.with(|it| {
        let task = it.running();
        task.retries = false;
        task.wake
    })
}

/// Records that the running task has found nothing left at `object`, from which tasks take things,
/// and is about to wait.
pub fn failed_attempt(object: usize) {
    with(|execution| {
        let object = execution.object(object);
        execution.record_failed_attempt(object);
    });
}

/// Enables every task that waits on `object`, without a scheduling point.
pub fn wake_all(object: usize) {
    with(|execution| {
        let object = execution.object(object);
        execution.wake_waiters(object);
    });
}

/// Performs `thread::sleep` until `deadline`. The sleep is a yield. The search chooses the moment
/// at which the sleep ends. A sleep without a deadline does not end.
pub fn sleep(deadline: Option<u64>, site: Site) {
    sleep_or_stay(deadline, Some(site));
}

/// As [`sleep`], for code whose line may be unknown.
pub(crate) fn sleep_until(deadline: u64, site: Option<Site>) {
    sleep_or_stay(Some(deadline), site);
}

fn sleep_or_stay(deadline: Option<u64>, site: Option<Site>) {
    let Some(execution) = running() else { return };
    may_crash(execution, Op::Sleep, site);
    execution.step(|it| {
        it.announce(Op::Sleep, ObjectId::NONE, site);
        it.record(Op::Sleep, ObjectId::NONE, Op::Sleep.effect(), site);
        it.sleep_on(Wait::Time, deadline)
    });
    set_aside::look(execution, true);
}

/// Yields: reaches a scheduling point at which a switch to another task is free. `site` is `None`
/// if no line is known.
#[unsafe(naked)]
pub extern "C" fn yield_now(op: Op, site: Option<Site>) {
    call_above_registers!("rdx", yield_above)
}

/// [`yield_now`] by a task whose state lies at and above `stack_pointer`.
extern "C" fn yield_above(op: Op, site: Option<Site>, stack_pointer: usize) {
    let Some(execution) = running() else { return };
    may_crash(execution, op, site);
    execution.step(|it| {
        it.announce(op, ObjectId::NONE, site);
        it.record(op, ObjectId::NONE, op.effect(), site);
        let state = it.state_above(stack_pointer, false);
        it.yield_step(state)
    });
    execution.with(Execution::begin_iteration);
    set_aside::look(execution, true);
}
