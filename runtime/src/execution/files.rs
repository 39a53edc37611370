//! Calls that use files, directories, environment variables and other state that tasks share
//! through the kernel: they are scheduling points if their order matters.
//!
//! In most programs, no two tasks use one file in such a way that the order matters. In such a
//! program all these calls commute, and are no scheduling points. If two uses conflict
//! ([`super::conflicts`]), each such call becomes a scheduling point, and the search begins anew
//! ([`FileUse::has_conflict`](super::file_use::FileUse::has_conflict)). This is sound: as long as
//! no two uses conflict, all orders of these calls have the same results. The operations of the
//! first task before its first spawn are never scheduling points, because they come before all
//! operations of other tasks.
//!
//! Calls on the state of descriptors (their flags, and whether they are open) become scheduling
//! points separately: `std` reads the flags of a descriptor before it closes the descriptor, so
//! nearly every program makes such calls.
//!
//! The interposed functions find the objects and the effects of each call.

use super::conflicts::Calls;
use super::mark::{line_if_known, marked_line};
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{running, with};
use super::scheduling_point::Arrival;
use super::spin::Access;
use super::state::Execution;
use super::task::Wait;
use super::terms::{Site, Step};
use super::{Effect, Op, TaskId};
use crate::search::ObjectId;

/// After this number of calls that only read, without a scheduling point in between, a task counts
/// as one that waits for another task.
const MANY_LOOKS: u32 = 2000;

impl Execution {
    /// Whether the first task has not spawned another one yet. All its operations so far come
    /// before those of other tasks.
    pub(super) fn is_only_task(&self) -> bool {
        self.schedule.live == 1
    }

    /// The current task arrives before a call that uses `object`.
    fn arrive_at_file(&mut self, op: Op, object: ObjectId) -> Step {
        let site = marked_line();
        let look = Access::new(op, line_if_known(), object);
        let version = self.files.version;
        let spin = &self.running().spin;
        let spins = spin.is_watching() && spin.spins(look, version);
        let arrival = self.announce(op, object, None);
        if site.is_some() {
            self.running().site = site;
        }
        match arrival {
            _ if spins => self.poll_again(look),
            Arrival::Inside => self.inside_step(),
            Arrival::Point | Arrival::Spin => self.decide(false),
        }
    }

    /// Passes a call that is no scheduling point. After [`MANY_LOOKS`] such calls the task yields,
    /// because it may poll for a change by another task.
    fn pass_file(&mut self, op: Op, object: ObjectId) -> Step {
        let now = self.pulse;
        let files = &mut self.files;
        if files.since != now {
            (files.since, files.looks) = (now, 0);
        }
        files.looks += 1;
        if files.looks < MANY_LOOKS || self.is_only_task() {
            return Step::Continue;
        }
        self.files.conflicts.found.add_all();
        self.announce(op, object, None);
        self.yield_step(0)
    }

    /// Records the objects that the current task's call has used. The first object is the main one
    /// of the call.
    fn use_files(&mut self, op: Op, touches: &[(usize, Effect)]) -> Step {
        // The engine does not see the changes of files by other processes.
        self.running().spin.read_unversioned();
        let Some((&(main, effect), others)) = touches.split_first() else {
            return Step::Continue;
        };
        let only_looks = touches.iter().all(|&(_, effect)| effect == Effect::Read);
        if !only_looks {
            self.files.version = self.files.version.wrapping_add(1);
            self.files.looks = 0;
        }
        if self.is_only_task() {
            return Step::Continue;
        }
        let task = self.schedule.current;
        for &(address, effect) in touches {
            let object = self.object(address);
            self.files.uses(task, object, effect, Calls::of(op));
        }
        if !self.files.is_point(op) {
            return Step::Continue;
        }
        let main = self.object(main);
        let site = marked_line();
        if op == Op::DirectoryRead {
            // The call moves to the next entry of its directory, so its repetition is no spin. A
            // loop that waits for an entry spins at `opendir` or `rewinddir`.
        } else if only_looks {
            let look = Access::new(op, line_if_known(), main);
            let version = self.files.version;
            self.running().spin.read(look, version);
        } else {
            self.running().spin.progress();
        }
        self.running().spin.read_unversioned();
        // With another outcome, the call may touch more objects.
        self.log.trace.continue_step();
        self.log_event(op, main, effect, site);
        let mut step = Step::Continue;
        for &(address, effect) in others {
            let object = self.object(address);
            step = self.touch(object, effect);
        }
        step
    }
}

/// Whether the call `op` is a scheduling point now.
pub(crate) fn is_point(op: Op) -> bool {
    with(|execution| execution.files.is_point(op) && !execution.is_only_task()).unwrap_or(false)
}

/// Whether each close of a file is a scheduling point. Otherwise, a close is no scheduling point if
/// only the closing task has used the file.
pub(crate) fn are_closes_points() -> bool {
    with(|execution| execution.files.are_closes_points()).unwrap_or(false)
}

/// Announces a call that uses the object at address `object`, and perhaps other objects. The
/// announcement is a scheduling point if calls on files are scheduling points.
pub(crate) fn arrive(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        if it.files.is_point(op) && it.is_only_task() {
            return Step::Continue;
        }
        let object = it.object(object);
        if it.files.is_point(op) {
            it.arrive_at_file(op, object)
        } else {
            it.pass_file(op, object)
        }
    });
}

/// As [`arrive`], for a call that commutes with all operations that other tasks can perform before
/// it. Such a call is no scheduling point.
pub(crate) fn pass(op: Op) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        it.running().op = op;
        if it.files.is_point(op) && !it.is_only_task() {
            it.inside_step()
        } else {
            Step::Continue
        }
    });
}

/// Records the objects that a call used, each with the effect of the call on it. [`arrive`] has
/// announced the call. The first element of `touches` is the call's main object.
///
/// For data races, the write of a file counts as a release, and the read of a file as an
/// acquisition: the kernel performs the calls on one object one after the other, and a program may
/// rely on this order. Neither Rust nor POSIX promises the order. So a data race may be missed
/// here, but no impossible one is reported.
pub(crate) fn used(op: Op, touches: &[(usize, Effect)]) {
    let Some(execution) = running() else { return };
    for &(object, effect) in touches {
        if effect != Effect::Update {
            Hooks::acquired(object, true);
        }
        if effect != Effect::Read {
            Hooks::released(object, true, op, marked_line());
        }
    }
    execution.step(|it| {
        it.files.count(op);
        it.use_files(op, touches)
    });
}

/// Records that the running call also uses `object`, the state of a descriptor.
pub(crate) fn uses_descriptor(object: usize, effect: Effect) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        if it.is_only_task() {
            return Step::Continue;
        }
        let object = it.object(object);
        let task = it.schedule.current;
        it.files.uses(task, object, effect, Calls::Descriptors);
        if it.files.is_point(Op::DescriptorInspect) {
            it.touch(object, effect)
        } else {
            Step::Continue
        }
    });
}

/// Records that the current task uses a descriptor whose state an earlier call has ended. `object`
/// is the object that the earlier call wrote. If the order of the two calls matters, each close
/// becomes a scheduling point.
pub(crate) fn finds_ended(object: usize) {
    with(|execution| {
        if !execution.is_only_task() {
            let object = execution.object(object);
            let task = execution.schedule.current;
            let calls = Calls::Descriptors;
            execution.files.uses(task, object, Effect::Read, calls);
        }
    });
}

/// Records that the current task changes something on which calls of all kinds depend, such as the
/// permissions of its process. Calls on files become scheduling points if there are several tasks.
/// No call is known to commute with this change.
pub(crate) fn rules_change() {
    with(|execution| {
        execution.log.trace.is_irregular = true;
        if !execution.is_only_task() {
            execution.files.conflicts.found.add_all();
        }
    });
}

/// Waits until the file lock at `object`, which is not free now, may be free.
pub(crate) fn wait_for_lock(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    let site = marked_line();
    execution.step(|it| {
        let object = it.object(object);
        // If a task waits, the order matters.
        it.files.conflicts.found.add(Calls::Files);
        it.record_failed_attempt(object);
        it.log.trace.continue_step();
        let task = it.running();
        (task.op, task.object, task.retries) = (op, object, true);
        if site.is_some() {
            task.site = site;
        }
        it.sleep_on(Wait::Object(object), None)
    });
    execution.with(|it| it.running().retries = false);
}

/// Enables all tasks that wait for the file lock at `object`.
pub(crate) fn wake_for_lock(object: usize) {
    with(|execution| {
        let object = execution.object(object);
        execution.wake_waiters(object);
    });
}

/// For deadlock reports: records the holder of the file lock at `object`, and the line where it was
/// acquired.
pub(crate) fn hold_lock(object: usize, holder: Option<(TaskId, Option<Site>)>) {
    with(|execution| {
        let object = execution.object(object);
        let lock = execution.objects.get_mut(object);
        lock.owner = holder.map(|(task, _)| task);
        lock.held_at = holder.and_then(|(_, site)| site);
    });
}

/// For the detection of conflicting uses of files: orders all operations of the tasks of `scope`
/// before the next operations of the running task.
pub fn end_scope(scope: usize) {
    with(|execution| {
        let task = execution.schedule.current;
        execution.files.conflicts.end_scope(task, scope);
    });
}
