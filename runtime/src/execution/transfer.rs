//! The transfer of control between tasks.

use super::detached::calls_in_progress;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{running, with};
use super::state::{Execution, execution};
use super::terms::Step;
use super::{Op, State, TaskId, mark};
use crate::platform::context::{self, call_above_registers};
use crate::platform::handover::{self, Backend, Flow};
use crate::platform::stack_pool::pool;

/// Carries out the decision of a scheduling point. Returns when the current task runs again, and
/// never if the execution ends first.
///
/// # Safety
/// Only from a task that holds no reference into the engine.
#[inline]
pub(crate) unsafe fn perform(step: Step) {
    match step {
        Step::Continue => {}
        // SAFETY: the caller's promise.
        Step::Switch(next) => unsafe { switch_to(next) },
        Step::Spin => spin(),
        // SAFETY: the caller's promise.
        Step::End => unsafe { leave_execution() },
    }
}

/// Yields for the current task, which spins: it is about to repeat a read that it has repeated
/// before. The state of the task includes the caller's frame, which is the frame of a shim. A
/// number of the engine that changes with each event, such as a hash or a count, must not remain in
/// this frame, because the states of two iterations would then differ. Therefore shims call
/// [`Execution::arrive`] and [`Execution::record`], which are never inlined, and hold nothing else
/// of the engine.
#[unsafe(naked)]
extern "C" fn spin() {
    call_above_registers!("rdi", spin_above)
}

/// [`spin`] by a task whose state lies at and above `stack_pointer`.
extern "C" fn spin_above(stack_pointer: usize) {
    let Some(execution) = running() else { return };
    if !mark::is_inside()
        && let Some(may_crash) = execution.with(|it| it.components.may_crash)
    {
        may_crash(Op::SpinLoop);
    }
    execution.step(|it| {
        let state = it.state_above(stack_pointer, true);
        it.spin_step(state)
    });
}

#[inline(never)]
unsafe fn switch_to(next: TaskId) {
    // SAFETY: one task runs at a time; the borrows end before the transfer.
    unsafe {
        let backend = (*pool()).backend();
        let execution = &mut *execution();
        if backend == Backend::Threads {
            execution.report_switch(next);
        }
        Hooks::switched(execution.schedule.current, next);
        note_calls(execution);
        execution.running().suspended_at = context::stack_pointer();
        let from = execution.running().flow;
        let to = execution.task(next).flow;
        execution.run(next);
        handover::transfer(backend, from, to);
        if backend == Backend::Threads {
            do_thread_work();
        }
    }
    if mark::is_inside() {
        Hooks::opaque_resumed();
    }
}

/// Does the work of libc for the current task, which continues on a kernel thread of its own.
#[cold]
pub(super) fn do_thread_work() {
    if let Some(work) = with(|execution| execution.thread_work) {
        work.continues();
    }
}

/// Records the calls in progress (the call stack) of the current task, which is about to transfer
/// control, if the execution is reported. Only the first part of a long execution is reported.
/// After that part, the calls are recorded only if the task is blocked.
pub(super) fn note_calls(execution: &mut Execution) {
    let is_blocked = matches!(execution.running().state, State::Blocked(_));
    let (current, log) = (execution.schedule.current, &mut execution.log);
    if log.values.is_wanted && (is_blocked || log.events.len() < log.most) {
        log.calls.task_waits(current, calls_in_progress);
    }
}

/// Returns to the exploring thread. The current task is never resumed.
#[inline(never)]
unsafe fn leave_execution() {
    // SAFETY: as `switch_to`.
    unsafe {
        let backend = (*pool()).backend();
        let execution = &mut *execution();
        if backend == Backend::Threads {
            execution.report_end();
        }
        note_calls(execution);
        let from = execution.running().flow;
        handover::transfer(backend, from, Flow::of_explorer());
    }
}
