//! `thread::park` and `unpark`, and the waits in which std parks the thread (`park_token.rs`). For
//! the parking of other libraries, see `parking.rs`.

use super::current::current;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{Running, running, with};
use super::task::{State, Wait};
use super::terms::{Site, Step, Wake};
use super::{Effect, Op, TaskId, crash, set_aside, token_object, wait_quietly};
use crate::search::TraceStep;

/// Performs `thread::park` or `park_timeout`: reaches a scheduling point, and then waits for the
/// task's token. The search may choose a spurious return.
pub fn park(op: Op, deadline: Option<u64>, site: Site) {
    let Some(execution) = running() else { return };
    crash::may_crash(execution, op, Some(site));
    let token = token_object(current());
    let object = execution.object(token);
    execution.with(|it| {
        it.tokens.were_missed |= it.running().has_parked_inside && !it.tokens.are_touched;
    });
    execution.step(|it| it.arrive(op, object, Some(site)));
    execution.step(|it| {
        if it.running().unparks > 0 {
            Step::Continue
        } else if it.wakes_spuriously() {
            it.decide(true)
        } else {
            it.sleep_on(Wait::Token, deadline)
        }
    });
    take(execution, token);
    execution.step(|it| it.record(op, object, op.effect(), Some(site)));
    set_aside::look(execution, true);
}

/// Performs `Thread::unpark`: reaches a scheduling point, and then gives `task` its token.
pub fn unpark(task: TaskId, site: Site) {
    let Some(execution) = running() else { return };
    crash::may_crash(execution, Op::Unpark, Some(site));
    let object = execution.object(token_object(task));
    execution.step(|it| it.arrive(Op::Unpark, object, Some(site)));
    Hooks::released(token_object(task), true, Op::Unpark, Some(site));
    execution.step(|it| it.record(Op::Unpark, object, Op::Unpark.effect(), Some(site)));
    execution.with(|it| {
        let parked = it.task_mut(task);
        parked.unparks += 1;
        if parked.state == State::Blocked(Wait::Token) {
            it.wake(task, Wake::Notified);
        } else if parked.unparks > 1 {
            // The task would have continued without its earlier waker, too.
            parked.waker = TraceStep::NONE;
        }
    });
    set_aside::look(execution, true);
}

/// As [`wait_quietly`], for a wait in which std parks the thread.
pub fn wait_parked(op: Op, object: usize, deadline: Option<u64>, site: Site) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    execution.with(|it| it.running().has_parked_inside = true);
    let wake = wait_quietly(op, object, deadline, site);
    let token = token_object(current());
    take(execution, token);
    if execution.with(|it| it.tokens.are_touched) {
        let token = execution.object(token);
        execution.step(|it| it.touch(token, Effect::Write));
    }
    wake
}

/// Records that the running task is about to look whether the tasks of the scope at `object` have
/// ended, and that it waits with [`wait_parked`] if they have not.
pub fn before_scope_wait(object: usize) {
    with(|execution| {
        execution.running().has_parked_inside = true;
        if execution.tokens.are_touched {
            // Whether the task waits depends on the order of this step and the ends of the tasks.
            let object = execution.object(object);
            execution.record_failed_attempt(object);
        }
    });
}

/// Takes the token of the running task, whose object is `token`, if the task has it.
fn take(execution: Running, token: usize) {
    if execution.with(|it| core::mem::take(&mut it.running().unparks)) > 0 {
        Hooks::acquired(token, true);
    }
}
