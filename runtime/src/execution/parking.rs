//! Parking of tasks by libraries other than std, with the names of their waits for reports.

use super::Op;
use super::current::running;
use super::task::Wait;
use super::terms::{Site, Wake};
use super::transfer::perform;

/// Blocks the calling task until [`unpark_at`] is called for `parker` or the deadline passes. In
/// reports, it waits in `op` for the object at `key`.
pub fn park_at(parker: usize, op: Op, key: usize, deadline: Option<u64>, site: Site) -> Wake {
    let Some(execution) = running() else {
        return Wake::Notified;
    };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let key = (*execution).object(key);
        let parker = (*execution).object(parker);
        let task = (*execution).running();
        task.op = op;
        task.object = key;
        task.site = Some(site);
        perform((*execution).sleep_on(Wait::Object(parker), deadline));
        let wake = (*execution).running().wake;
        (*execution).record(Op::Parked, parker, Op::Parked.effect(), Some(site));
        wake
    }
}

/// Wakes the task that waits at `parker`, if one does; no scheduling point.
pub fn unpark_at(parker: usize, site: Site) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let parker = (*execution).object(parker);
        (*execution).wake_waiters(parker);
        (*execution).record(Op::Unparks, parker, Op::Unparks.effect(), Some(site));
    }
}
