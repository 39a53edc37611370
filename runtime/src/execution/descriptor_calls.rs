//! Calls on descriptors: their scheduling points, waits and events.
//!
//! A task never waits in the kernel. It tries the call without blocking. If the call would block,
//! the task is disabled until a call of another task makes its descriptor ready (CHESS section
//! 3.4). Descriptors that something outside the process makes ready are handled by
//! [`super::outside_waits`].

use super::access::now;
use super::conflicts::Calls;
use super::crash::may_crash_here;
use super::descriptors::{KERNEL, address_of, is_descriptor, state_of};
use super::mark::{line_if_known, marked_line};
use super::running::{running, with};
use super::spin::Access;
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::{Step, Wake};
use super::{Effect, Note, Op, TaskId, files};
use crate::platform::descriptor;
use crate::platform::descriptor::{Identity, Kind, PollEntry};
use crate::search::ObjectId;

impl Execution {
    /// The descriptors for which `task` waits, and whether only something outside the process
    /// makes them ready. `None` if the task waits for no descriptors.
    pub(super) fn awaited(&self, task: TaskId) -> Option<(&'static mut [PollEntry], bool)> {
        let (first, count, outside) = match self.task(task).state {
            State::Blocked(Wait::Descriptors(first, count)) => (first, count, false),
            State::Blocked(Wait::Outside(first, count)) => (first, count, true),
            _ => return None,
        };
        // SAFETY: they lie on the stack of the blocked task, or in memory that it passed to `poll`,
        // and only this task uses them when it runs again.
        let entries =
            unsafe { core::slice::from_raw_parts_mut(first as *mut PollEntry, count as usize) };
        Some((entries, outside))
    }

    /// For each task that waits for descriptors: the task, its descriptors, and whether only
    /// something outside the process makes them ready.
    pub(super) fn all_awaited(
        &self,
    ) -> impl Iterator<Item = (TaskId, &'static mut [PollEntry], bool)> {
        (0..self.schedule.live as u32)
            .map(TaskId)
            .filter_map(|task| {
                let (entries, outside) = self.awaited(task)?;
                Some((task, entries, outside))
            })
    }

    /// Enables the tasks whose descriptors are ready. Tasks that wait for something outside the
    /// process are among them only if `outside_too`. Returns whether a task became enabled.
    pub(super) fn wake_ready(&mut self, outside_too: bool) -> bool {
        if self.descriptors.waiting == 0 {
            return false;
        }
        let mut any = false;
        for task in (0..self.schedule.live as u32).map(TaskId) {
            if let Some((entries, outside)) = self.awaited(task)
                && (!outside || outside_too)
                && descriptor::poll_now(entries) != 0
            {
                self.wake(task, Wake::Notified);
                any = true;
            }
        }
        any
    }

    /// Records a call of the current task on `object`. `effect` is `Write` if the call changed the
    /// state of the kernel.
    fn record_call(&mut self, op: Op, object: ObjectId, effect: Effect) {
        let kernel = self.object(KERNEL);
        let version = self.objects.get(kernel).version;
        if effect == Effect::Read && self.running().note == Note::NONE {
            let access = Access::new(op, line_if_known(), object);
            self.running().spin.read(access, version);
        } else {
            self.running().spin.progress();
        }
        if effect == Effect::Write {
            self.descriptors
                .note_call(self.schedule.current, op, object);
        }
        self.log_event(op, object, effect, None);
        self.touch(kernel, effect);
    }

    /// Records that a call of the current task uses the state of the descriptor's object at address
    /// `object`. If calls on the state are scheduling points, these calls conflict anyway, because
    /// they have events of the same object.
    fn use_state(&mut self, op: Op, object: usize) -> Step {
        if !is_descriptor(object) || self.is_only_task() {
            return Step::Continue;
        }
        let task = self.schedule.current;
        let state = self.object(state_of(object));
        let ends = op == Op::Close;
        let effect = if ends { Effect::Write } else { Effect::Read };
        self.files.uses(task, state, effect, Calls::Descriptors);
        if ends || matches!(op, Op::Bind | Op::Connect | Op::Listen) {
            let address = self.object(address_of(object));
            self.files
                .uses(task, address, Effect::Write, Calls::Descriptors);
        }
        if ends && self.files.is_point(Op::DescriptorClose) {
            // Later calls find no object, and read the state that this call has ended.
            return self.touch(state, Effect::Write);
        }
        Step::Continue
    }

    /// Records that the current task has read the state of the descriptor's object at address
    /// `object`, and therefore waits.
    fn wait_by_state(&mut self, object: usize) {
        if !is_descriptor(object) || self.is_only_task() {
            return;
        }
        let task = self.schedule.current;
        let state = self.object(state_of(object));
        self.files
            .uses(task, state, Effect::Read, Calls::Descriptors);
        if self.files.is_point(Op::DescriptorChange) {
            self.log.trace.access(state, Effect::Read, Effect::Read);
        }
    }

    /// The current task arrives before a call on `object`.
    fn arrive_to_call(&mut self, op: Op, object: ObjectId) -> Step {
        let kernel = self.object(KERNEL);
        let version = self.objects.get(kernel).version;
        let spin = &self.running().spin;
        let call = Access::new(op, line_if_known(), object);
        if spin.is_watching() && spin.spins(call, version) {
            self.announce(op, object, None);
            return self.poll_again(call);
        }
        self.arrive(op, object, None)
    }
}

/// The address that stands in the side table for the object to which a descriptor refers. It is the
/// same for both ends of a pipe and for duplicates of a socket, and in all executions. 0 if the
/// caller is no task.
pub(crate) fn descriptor_object(descriptor: i32, identity: Identity) -> usize {
    let object = with(|it| {
        let task = it.schedule.current;
        it.descriptors.object(task, descriptor, identity)
    });
    object.unwrap_or(0)
}

/// Names the pipe or the socket of `descriptor`, which the running task has created.
pub(crate) fn name_descriptor(descriptor: i32) {
    descriptor_object(descriptor, descriptor::look(descriptor));
}

/// Records that the running call ends the state of `descriptor`, and writes `object`. If
/// `is_replaced`, the call also makes `descriptor` refer to another file.
pub(crate) fn descriptor_ends(descriptor: i32, object: usize, is_replaced: bool) {
    with(|it| it.descriptors.end(descriptor, object, is_replaced));
}

/// The object that the newest call wrote that closed or replaced `descriptor`. This object
/// determines whether `descriptor` is open, and to which file it refers. `None` if there was no
/// such call. Also `None` if this call only closed the descriptor and `is_closed` is not set: the
/// present file of the descriptor then got a number that was free.
pub(crate) fn ended_descriptor(descriptor: i32, is_closed: bool) -> Option<usize> {
    with(|it| it.descriptors.ended(descriptor, is_closed)).flatten()
}

/// Records that the running call, which is no call on a file, uses the number `descriptor`. An
/// earlier call may determine whether the descriptor is open, and to which file it refers.
pub(crate) fn uses_number(descriptor: i32) {
    if ended_descriptor(descriptor, true).is_none() {
        return;
    }
    let is_closed = descriptor::look(descriptor).kind == Kind::Closed;
    if let Some(object) = ended_descriptor(descriptor, is_closed) {
        files::uses_descriptor(object, Effect::Read);
    }
}

/// Reaches a scheduling point before a system call. `object` is the address that stands for the
/// object of the call, such as a pipe (see [`descriptor_object`](super::descriptor_object)). It is
/// 0 if the call has no object.
pub(crate) fn before_call(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    may_crash_here(op);
    let object = execution.object(object);
    execution.step(|it| it.arrive_to_call(op, object));
}

/// Records the event of the call that [`before_call`] announced. If the call changed the state of
/// the kernel, enables the tasks whose descriptors are ready now.
pub(crate) fn after_call(op: Op, object: usize, effect: Effect) {
    let Some(execution) = running() else { return };
    execution.step(|it| {
        it.descriptors.calls += 1;
        let used = it.object(object);
        it.record_call(op, used, effect);
        if effect == Effect::Write {
            it.wake_ready(false);
        }
        it.use_state(op, object)
    });
}

/// Enables the tasks whose descriptors are ready because of the effects of the current call so far.
pub(crate) fn descriptors_changed() {
    with(|execution| execution.wake_ready(false));
}

/// Blocks the calling task until another task calls [`wake_all`](super::wake_all) for `object`,
/// which is a [`descriptor_object`].
pub(crate) fn await_other_end(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    let site = marked_line();
    execution.step(|it| {
        it.wait_by_state(object);
        let object = it.object(object);
        let task = it.running();
        (task.op, task.object, task.site) = (op, object, site);
        it.sleep_on(Wait::Object(object), None)
    });
}

/// Enables the tasks that wait for descriptors, because the deadline of a timer descriptor has
/// changed. Tasks that wait only for something outside the process stay blocked.
pub(crate) fn wake_all_awaiting() {
    with(|execution| {
        for task in (0..execution.schedule.live as u32).map(TaskId) {
            if matches!(
                execution.task(task).state,
                State::Blocked(Wait::Descriptors(..))
            ) {
                execution.wake(task, Wake::Notified);
            }
        }
    });
}

/// Blocks the calling task until one of `entries` may be ready, but at most until `deadline` or
/// `alarm`. `alarm` is the time at which a timer descriptor becomes ready. `outside` states whether
/// only something outside the process makes the entries ready.
pub(crate) fn await_descriptors(
    op: Op,
    object: usize,
    entries: &mut [PollEntry],
    deadline: Option<u64>,
    alarm: Option<u64>,
    outside: bool,
) {
    let Some(execution) = running() else { return };
    let (first, count) = (entries.as_mut_ptr() as usize, entries.len() as u32);
    let until = deadline.into_iter().chain(alarm).min();
    // The entries stay at their place while the task waits.
    execution.step(|it| {
        it.wait_by_state(object);
        let object = it.object(object);
        if it.descriptors.others_took(it.schedule.current, op, object) {
            let kernel = it.object(KERNEL);
            it.record_failed_attempt(kernel);
        }
        let task = it.running();
        task.op = op;
        task.object = object;
        task.site = None;
        if outside {
            it.sleep_uncounted(Wait::Outside(first, count), until)
        } else {
            it.sleep_on(Wait::Descriptors(first, count), until)
        }
    });
    let timed_out = execution.with(|it| it.running().wake == Wake::TimedOut);
    if timed_out && deadline.is_none_or(|deadline| deadline > now()) {
        // The task continued because a timer descriptor became ready. This is no timeout.
        execution.with(|it| it.running().note = Note::NONE);
    }
}
