//! Exclusive and shared calls: calls of the methods that `[[exclusive]]` in Chess.toml selects. If
//! two tasks are in calls of one object at once, and one of these calls is exclusive, this is a
//! thread-safety violation (Li and others, SOSP'19). `exclusive_calls.rs` has the calls in
//! progress, and `monitor/thread_safety.rs` reports the violation as a failure.
//!
//! The start and the end of a call are operations on an object of the engine that stands for the
//! called object. This object is separate from the synchronization objects within the called
//! object. All these operations conflict, except that those of two shared calls commute. So whether
//! two calls overlap is the same in all executions with one happens-before graph, and the searches
//! try both orders of a start and another call's end.
//!
//! - A call changes nothing that a task can wait for: [`Effect::Rewrite`](super::Effect::Rewrite)
//!   and [`Effect::Read`](super::Effect::Read) wake no task, and the operations have no part in the
//!   detection of loops that wait. So a loop around a call waits as it does without the check. A
//!   waiting loop stops after an iteration that changed nothing. This iteration stands for all
//!   later ones: if a call of another task could overlap a later iteration, it can overlap this
//!   one.
//! - The end is a scheduling point also within a call into `atomic` code. That call would otherwise
//!   be one step, within which no other call begins.

use super::exclusive_calls::ObjectCall;
use super::running::running;
use super::state::Execution;
use super::terms::{Mode, Site, Step};
use super::{Op, set_aside};
use crate::search::ObjectId;

impl Execution {
    fn begin_call(
        &mut self,
        (object, mode): (ObjectId, Mode),
        (of, method): (&'static str, &'static str),
        site: Site,
    ) -> Step {
        let op = match mode {
            Mode::Exclusive => Op::ExclusiveBegin,
            Mode::Shared => Op::SharedBegin,
        };
        self.object_calls.begun += 1;
        let step = self.log_call(op, object, site);
        let call = ObjectCall {
            task: self.schedule.current,
            object,
            mode,
            number: self.object_calls.begun,
            method,
            site,
        };
        if self.object_calls.add(of, call) {
            step
        } else {
            self.stop()
        }
    }

    fn log_call(&mut self, op: Op, object: ObjectId, site: Site) -> Step {
        if self.running().watches {
            self.look_again();
        }
        self.log_event(op, object, op.effect(), Some(site))
    }

    /// The scheduling point before the end of a call.
    fn arrive_at_end(&mut self, op: Op, object: ObjectId, site: Site) -> Step {
        let task = self.running();
        task.op = op;
        task.object = object;
        task.site = Some(site);
        self.report_point();
        self.decide(false)
    }
}

/// Begins a call of `method` on the object with the number `object`, whose type is `of`. Returns
/// whether [`end_call`] must follow. Returns `false` outside an execution, and if the task is
/// already in a call of this object that excludes at least as much as the new call.
pub fn begin_call(
    object: usize,
    mode: Mode,
    (of, method): (&'static str, &'static str),
    site: Site,
) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    let object = execution.object(object);
    if execution.with(|it| it.object_calls.covers(it.schedule.current, object, mode)) {
        return false;
    }
    let op = match mode {
        Mode::Exclusive => Op::ExclusiveBegin,
        Mode::Shared => Op::SharedBegin,
    };
    execution.step(|it| it.arrive(op, object, Some(site)));
    execution.step(|it| it.begin_call((object, mode), (of, method), site));
    set_aside::look(execution, true);
    true
}

/// Ends a call that [`begin_call`] began. `site` is that of [`begin_call`].
pub fn end_call(object: usize, mode: Mode, site: Site) {
    let Some(execution) = running() else { return };
    let op = match mode {
        Mode::Exclusive => Op::ExclusiveEnd,
        Mode::Shared => Op::SharedEnd,
    };
    let object = execution.object(object);
    execution.step(|it| it.arrive_at_end(op, object, site));
    execution.step(|it| it.log_call(op, object, site));
    execution.with(|it| it.object_calls.remove(it.schedule.current, object, mode));
    set_aside::look(execution, true);
}
