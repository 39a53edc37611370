//! The operations of opaque code, which does not call the shims: C code, packages compiled
//! unchanged, and std's own locks.
//!
//! Such code has neither a line nor a policy. A call into it is one step, as is one into `atomic`
//! code: there is a scheduling point before the first operation that the engine sees, and none
//! after that until code of policy `preempt` has control again. In between, the engine switches to
//! another task only if the task blocks or spins. This leaves out the schedules that preempt such
//! code half-way, and adds none: every explored schedule can happen. A point before each operation
//! would be as sound, but would make every allocation of an allocator in C a choice.

use chess_vocabulary::OutsideEffect;

use super::crash::may_crash;
use super::mark::line_if_known;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{Running, running, with};
use super::spin::Access;
use super::state::Execution;
use super::task::{State, Wait, thread_object};
use super::terms::{Site, Step, Wake};
use super::{Effect, Note, Op, TaskId, mark, set_aside};
use crate::search::ObjectId;

/// Stands for all unseen state that opaque code touches: any two calls into it depend on each
/// other.
const UNSEEN: usize = 8;

impl Execution {
    /// Records the next operation of the current task. Returns whether the operation is within a
    /// call that is one step. If the result is `false`, such a call begins with this operation.
    #[inline]
    pub(super) fn announce_opaque(&mut self, op: Op, object: ObjectId) -> bool {
        let task = self.running();
        task.op = op;
        task.object = object;
        self.report_point();
        mark::enter()
    }

    /// Makes the newest event, an access to an atomic, depend on C code, which may access the
    /// atomic, too.
    #[cold]
    pub(super) fn depend_on_unseen(&mut self) {
        let object = self.object(UNSEEN);
        let task = self.schedule.tasks.running_mut();
        // The dependence is a read even if the event writes: through this object, the event must
        // depend on calls of C code, but not on other events of atomics.
        _ = self.log.depend(
            object,
            Effect::Read,
            &mut self.objects,
            &mut task.last_event,
        );
    }

    /// Records that the task may have seen an effect of C code when its operation `op` at `site`
    /// read an atomic.
    #[cold]
    pub(super) fn read_unseen(&mut self, op: Op, site: Site) {
        let object = self.object(UNSEEN);
        let version = self.objects.get(object).version;
        let access = Access::new(op, site, object);
        self.schedule.tasks.running_mut().spin.read(access, version);
    }

    #[inline]
    fn arrive_opaque(&mut self, op: Op, object: ObjectId) -> (Step, bool) {
        if self.announce_opaque(op, object) {
            (self.inside_step(), false)
        } else {
            (self.decide(false), true)
        }
    }
}

/// As [`may_crash`], but not within a call that is one step. Such a call may hold locks of a
/// library, and the recovery would find them locked. After a real crash, the recovery is another
/// process, with locks of its own.
fn may_crash_outside(execution: Running, op: Op) {
    if !mark::is_inside() {
        may_crash(execution, op, mark::marked_line());
    }
}

/// Reaches a scheduling point before `op` on the object at address `object`. Within a call that is
/// one step, there is no scheduling point, and the function returns `false`.
pub(crate) fn arrive(op: Op, object: usize) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    may_crash_outside(execution, op);
    let object = execution.object(object);
    execution.step_and(|it| it.arrive_opaque(op, object))
}

/// As [`arrive`], before an attempt that does not wait. If the task's earlier attempts failed and
/// nothing has changed since, the task spins: code that polls a lock forever must let the holder
/// continue.
pub(crate) fn arrive_to_try(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    may_crash_outside(execution, op);
    execution.step(|it| {
        it.log.trace.tries_to_read |= op.effect() == Effect::TryEnter;
        let object = it.object(object);
        let version = it.objects.get(object).version;
        let attempt = Access::new(op, line_if_known(), object);
        if it.running().spin.spins(attempt, version) {
            it.announce_opaque(op, object);
            it.poll_again(attempt)
        } else {
            it.arrive_opaque(op, object).0
        }
    });
}

/// Ends an attempt announced by [`arrive_to_try`] that failed.
pub(crate) fn failed_to_take(op: Op, object: usize) {
    record_attempt(op, object, Effect::Fail);
}

/// Records that an attempt announced by [`arrive_to_try`] only read the object.
pub(crate) fn record_look(op: Op, object: usize) {
    record_attempt(op, object, Effect::Read);
}

/// Records an attempt that changed nothing. If the task repeats it before the object changes, the
/// task spins.
fn record_attempt(op: Op, object: usize, effect: Effect) {
    with(|execution| {
        let object = execution.object(object);
        let version = execution.objects.get(object).version;
        let attempt = Access::new(op, line_if_known(), object);
        execution.running().spin.read(attempt, version);
        execution.log_event(op, object, effect, None);
    });
}

/// Records the event of the operation that [`arrive`] announced.
pub(crate) fn record(op: Op, object: usize, effect: Effect) {
    let Some(execution) = running() else { return };
    execution.with(|it| {
        let object = it.object(object);
        it.record(op, object, effect, None);
    });
    set_aside::look(execution, false);
}

/// Blocks the calling task until another task wakes it at `object`, or until the deadline. Records
/// no event.
pub(crate) fn sleep(op: Op, object: usize, deadline: Option<u64>) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    execution.step(|it| {
        let object = it.object(object);
        // A lock does not need this: its releases do not hide the races of its acquisitions.
        if !matches!(op.effect(), Effect::Acquire | Effect::Enter) {
            it.record_failed_attempt(object);
        }
        let task = it.running();
        task.op = op;
        task.object = object;
        task.retries = true;
        // The behaviour of opaque code after a timeout is not known.
        it.log.trace.is_irregular |= deadline.is_some();
        it.sleep_on(Wait::Object(object), deadline)
    });
    execution.with(|it| {
        let task = it.running();
        task.retries = false;
        task.wake
    })
}

/// Waits at `object` as [`sleep`] does, or wakes spuriously if the search chooses so. A spurious
/// wake-up costs as much as a preemption. It is possible only if the wait is `outermost`, which
/// means not within a call that is one step.
pub(crate) fn sleep_or_wake_spuriously(
    op: Op,
    object: usize,
    deadline: Option<u64>,
    outermost: bool,
) -> Wake {
    let Some(execution) = running() else {
        return Wake::Spurious;
    };
    if outermost && execution.with(Execution::chooses_spurious) {
        execution.step(|it| {
            it.running().note = Note::WOKE_SPURIOUSLY;
            // The task slept, so continuing with another task costs nothing more.
            it.decide(true)
        });
        return Wake::Spurious;
    }
    sleep(op, object, deadline)
}

/// Enables all waiters of `object` if `all` is true. If not, enables one waiter, which the search
/// chooses. The wake-up is part of the running step.
pub(crate) fn wake(object: usize, all: bool) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        let object = it.object(object);
        if all {
            it.wake_waiters(object);
        } else {
            it.wake_a_waiter(object);
        }
        it.touch(object, Effect::Write)
    });
}

/// Reaches a scheduling point. Then enables all waiters of `object` if `all` is true. If not,
/// enables one waiter, which the search chooses.
pub(crate) fn notify(op: Op, object: usize, all: bool) {
    arrive(op, object);
    with(|execution| {
        let object = execution.object(object);
        if all {
            execution.wake_waiters(object);
        } else {
            execution.wake_a_waiter(object);
        }
        execution.record(op, object, op.effect(), None);
    });
}

/// For deadlock reports: records that the running task holds the lock at `object` exclusively,
/// until [`super::disown`].
pub(crate) fn own(object: usize) {
    with(|execution| {
        let id = execution.object(object);
        let current = execution.schedule.current;
        let owned = execution.objects.get_mut(id);
        owned.owner = Some(current);
        owned.held_at = None;
    });
}

/// Records whether the running task waits to acquire the lock at `object` for writing.
pub(crate) fn queue_writer(object: usize, waits: bool) {
    with(|execution| {
        let waited = core::mem::replace(&mut execution.running().queued, waits);
        let id = execution.object(object);
        let lock = execution.objects.get_mut(id);
        lock.queued_writers += u32::from(waits);
        lock.queued_writers -= u32::from(waited);
        let gave_up = waited && !waits && lock.owner.is_none();
        if waits != waited {
            execution.touch(id, Effect::Write);
        }
        if gave_up {
            execution.wake_waiters(id);
        }
    });
}

/// Whether a task waits to acquire the lock at `object` for writing.
pub(crate) fn has_queued_writers(object: usize) -> bool {
    with(|execution| {
        let id = execution.object(object);
        execution.objects.get(id).queued_writers > 0
    })
    .unwrap_or(false)
}

/// Whether this execution has used the object at `object`.
pub(crate) fn is_known(object: usize) -> bool {
    with(|execution| execution.objects.find(object).is_some()).unwrap_or(false)
}

/// Adds a task to the barrier at `object`. Returns the number of tasks there.
pub(crate) fn join_barrier(object: usize) -> u32 {
    with(|execution| {
        let id = execution.object(object);
        let barrier = execution.objects.get_mut(id);
        barrier.shared += 1;
        barrier.shared
    })
    .unwrap_or(0)
}

/// Releases all tasks from the barrier at `object`.
pub(crate) fn open_barrier(object: usize) {
    with(|execution| {
        let id = execution.object(object);
        execution.objects.get_mut(id).shared = 0;
        execution.wake_waiters(id);
    });
}

/// Waits for the end of `task`, or for the deadline.
pub(crate) fn join(task: TaskId, deadline: Option<u64>) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    may_crash_outside(execution, Op::Join);
    let object = execution.object(thread_object(task));
    let mut wake = Wake::Notified;
    if execution.with(|it| it.task(task).state == State::Finished) {
        execution.step(|it| it.arrive_opaque(Op::Join, object).0);
    } else {
        execution.step(|it| {
            it.announce_opaque(Op::Join, object);
            it.sleep_on(Wait::Task(task), deadline)
        });
        wake = execution.with(|it| it.running().wake);
    }
    execution.with(|it| {
        it.record(Op::Join, object, Op::Join.effect(), None);
        if it.task(task).state == State::Finished {
            it.follows(task);
        }
    });
    wake
}

/// Whether `task` has ended. If earlier checks of the caller failed and nothing has changed since,
/// the caller yields.
pub(crate) fn has_ended(task: TaskId) -> bool {
    let object = thread_object(task);
    arrive_to_try(Op::IsFinished, object);
    let Some(execution) = running() else {
        return true;
    };
    let ended = execution.with(|it| it.task(task).state == State::Finished);
    if ended {
        execution.with(|it| it.follows(task));
        record(Op::IsFinished, object, Effect::Read);
    } else {
        failed_to_take(Op::IsFinished, object);
    }
    ended
}

/// Records a call of a function of a package that is compiled unchanged.
///
/// The result of the call may be a guard of a lock that the engine does not see. If the task drops
/// the guard in its own code, the engine sees no call. Therefore each later step of the task
/// counts as one that touches the state of opaque code.
pub(crate) fn enter() {
    enter_for(OutsideEffect::OpaqueCode, true);
}

/// Records a call from Rust code of a function in C or another language. C has no guards that a
/// task can drop in its own code, so each later operation on the same state is within another
/// recorded call.
pub(crate) fn enter_foreign() {
    enter_for(OutsideEffect::ForeignCode, false);
}

/// Records a call into code that the engine does not see. `keeps` states whether the task may
/// touch the same state later without a call.
fn enter_for(what: OutsideEffect, keeps: bool) {
    let Some(execution) = running() else { return };
    let is_inside = mark::is_inside();
    if is_inside {
        // The call is no step of its own, but it still orders operations.
        Hooks::opaque_entered();
        if execution.with(|it| it.running().has_called_opaque) {
            return;
        }
    }
    let object = execution.with(|it| {
        it.note_outside(what, None);
        // The engine does not see the reads and writes of this code.
        it.awaits = false;
        it.object(UNSEEN)
    });
    if is_inside {
        execution.step(|it| it.touch(object, Effect::Write));
    } else {
        execution.step(|it| it.arrive_opaque(Op::OpaqueCall, object).0);
        execution.with(|it| it.record(Op::OpaqueCall, object, Effect::Write, None));
    }
    if keeps {
        execution.with(|it| {
            it.running().has_called_opaque = true;
            let current = it.schedule.current;
            it.log.trace.touches_unseen(current, object);
        });
    }
}
