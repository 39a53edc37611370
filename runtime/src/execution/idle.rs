//! The wait of a task until no other task can run, and no timer is pending.
//!
//! The check of a history that has blocking operations uses this wait: some calls of other tasks
//! may never return. All earlier steps of the execution come before the end of the wait, since each
//! of them could have enabled another task. So the wait has no race with any of them.

use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::running;
use super::set_aside;
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::{Site, Wake};
use super::{Op, TaskId};
use crate::search::{ObjectId, TraceStep};

impl Execution {
    /// If no task is enabled, ends the idle wait of the task that has waited longest. Returns
    /// whether a wait ended. No wait ends while a task is set aside because it computes without
    /// end: such a task is not idle.
    #[cold]
    pub(super) fn ends_idle_wait(&mut self) -> bool {
        let waits = |wait| {
            let tasks = self.live_tasks();
            tasks.filter(move |(_, task)| task.state == State::Blocked(wait))
        };
        if waits(Wait::Computation).next().is_some() {
            return false;
        }
        let Some((task, _)) = waits(Wait::Idle).min_by_key(|(_, task)| task.queue) else {
            return false;
        };
        // If a task still awaits a change at the end of an idle wait, its dependences are not
        // traced.
        let awaits = waits(Wait::Change).next().is_some();
        self.log.trace.is_irregular |= awaits;
        self.wake(task, Wake::Notified);
        // All earlier steps come before the next step of the task, and none of them is the cause of
        // that step.
        self.task_mut(task).waker = TraceStep::NONE;
        true
    }

    /// Records in the trace that the step of `task` that has just begun ends an idle wait.
    #[cold]
    pub(super) fn trace_idle(&mut self, task: TaskId) {
        self.log.trace.ends_idle_wait();
        if Hooks::is_ordered() {
            Hooks::time_passes();
            let others = (0..self.schedule.live as u32).map(TaskId);
            for other in others.filter(|&other| other != task) {
                Hooks::joined(task, other);
            }
        }
    }
}

/// Waits until no other task can run and no timer is pending. Returns `false` outside an execution,
/// where there is no wait.
pub fn until_idle(site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    execution.step(|it| {
        it.announce(Op::Idle, ObjectId::NONE, Some(site));
        it.record(Op::Idle, ObjectId::NONE, Op::Idle.effect(), Some(site));
        it.sleep_on(Wait::Idle, None)
    });
    set_aside::look(execution, true);
    true
}
