//! Late effects: choices of the search among the stores that an atomic operation may meet.

use super::current::running;
use super::spin::Access;
use super::terms::Site;
use super::{Note, Op};
use crate::memory::At;
use crate::search::{Outcomes, Trace};

/// The facts on which the offers of the running task's operation at `site` depend: the version of the
/// object at `object`; the version of the store that this operation met last, if the task has only
/// read since; and the trace of the execution. Without a trace, only the newest store is offered.
pub(crate) fn view<'a>(op: Op, object: usize, site: Site) -> (u32, Option<u32>, Option<&'a Trace>) {
    let Some(execution) = running() else {
        return (0, None, None);
    };
    // SAFETY: see `running`. The caller uses the trace before any other code of the engine runs.
    unsafe {
        let object = (*execution).object(object);
        let version = (*execution).objects.get(object).version;
        let spin = &(*execution).running().spin;
        let last = spin.version_at(Access::new(op, site, object));
        let trace = &raw const (*execution).log.trace;
        let is_explored = !(*execution).past_limit && (*trace).is_kept();
        (version, last, is_explored.then(|| &*trace))
    }
}

/// The place of the running task's next event in the execution.
pub(crate) fn place() -> At {
    let none = At {
        step: 0,
        event: 0,
        site: None,
    };
    running().map_or(none, |execution| {
        // SAFETY: see `running`.
        let log = unsafe { &(*execution).log };
        At {
            step: log.trace.step(),
            event: log.events.len() as u32,
            // SAFETY: see `running`.
            site: unsafe { (*execution).running().site },
        }
    })
}

/// Chooses the store that the running task's operation meets, by its number among those that are
/// offered. `name` returns the name of each, and `overtaken` the event of the store that follows it.
pub(crate) fn choose_store(
    offered: u32,
    name: &dyn Fn(u32) -> u64,
    overtaken: &dyn Fn(u32) -> u32,
) -> u32 {
    let Some(execution) = running() else {
        return 0;
    };
    if offered < 2 {
        return 0;
    }
    // SAFETY: see `running`.
    unsafe {
        let choice = (*execution).choose_outcome(offered, Outcomes::Late(name));
        if choice != 0 {
            let overtaken = overtaken(choice);
            (*execution).late_effects += 1;
            (*execution).running().note = Note::late(overtaken);
            (*execution).report_late_effect(overtaken);
        }
        choice
    }
}

/// The version of the object at `object`.
pub(crate) fn version_of(object: usize) -> u32 {
    let Some(execution) = running() else {
        return 0;
    };
    // SAFETY: see `running`.
    unsafe {
        let object = (*execution).object(object);
        (*execution).objects.get(object).version
    }
}

/// Makes the detection of spins take the next event of the running task for a read of this version
/// of its object.
pub(crate) fn reads_version(version: u32) {
    if let Some(execution) = running() {
        // SAFETY: see `running`.
        unsafe { (*execution).running().reads_version = Some(version) };
    }
}
