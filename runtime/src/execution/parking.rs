//! Parks and unparks tasks for libraries other than std. A library names the operation and the
//! object that reports show for the wait.

use super::Op;
use super::running::{running, with};
use super::task::Wait;
use super::terms::{Site, Wake};

/// Blocks the calling task until [`unpark_at`] is called for `parker` or the deadline passes. In
/// reports, the task waits in `op` for the object at `key`.
pub fn park_at(parker: usize, op: Op, key: usize, deadline: Option<u64>, site: Site) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    let parker = execution.step_and(|it| {
        let key = it.object(key);
        let parker = it.object(parker);
        let task = it.running();
        task.op = op;
        task.object = key;
        task.site = Some(site);
        (it.sleep_on(Wait::Object(parker), deadline), parker)
    });
    execution.with(|it| {
        let wake = it.running().wake;
        it.record(Op::Parked, parker, Op::Parked.effect(), Some(site));
        wake
    })
}

/// Wakes the tasks (usually one) that wait at `parker`, without a scheduling point.
pub fn unpark_at(parker: usize, site: Site) {
    with(|execution| {
        let parker = execution.object(parker);
        execution.wake_waiters(parker);
        execution.record(Op::Unparks, parker, Op::Unparks.effect(), Some(site));
    });
}
