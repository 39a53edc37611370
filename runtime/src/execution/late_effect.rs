//! Late effects. Under a weak memory model, an atomic operation may meet an older store than the
//! newest one. The search chooses the store.

use super::running::with;
use super::spin::Access;
use super::terms::Site;
use super::{Note, Op};
use crate::memory::At;
use crate::search::{Outcomes, Trace};

/// Returns three facts that determine the stores that the running task's operation `op` at `site`
/// may meet. The first is the version of the object at `object` (its number of changes). The second
/// is the version that this operation met the last time, if the task has only read since. The third
/// is the trace of the execution. Without a trace, the operation can only meet the newest store.
pub(crate) fn view<'a>(op: Op, object: usize, site: Site) -> (u32, Option<u32>, Option<&'a Trace>) {
    with(|execution| {
        let object = execution.object(object);
        let version = execution.objects.get(object).version;
        let spin = &execution.running().spin;
        let last = spin.version_at(Access::new(op, site, object));
        let trace = &execution.log.trace;
        let is_explored = !execution.budget.past_limit && trace.is_kept();
        let trace = &raw const *trace;
        // SAFETY: the caller uses the trace before any other code of the engine runs.
        (version, last, is_explored.then(|| unsafe { &*trace }))
    })
    .unwrap_or((0, None, None))
}

/// The place of the running task's next event in the execution.
pub(crate) fn place() -> At {
    let none = At {
        step: 0,
        event: 0,
        site: None,
    };
    with(|execution| At {
        step: execution.log.trace.step(),
        event: execution.log.events.len() as u32,
        site: execution.running().site,
    })
    .unwrap_or(none)
}

/// Lets the search choose one of the `offered` stores for the running task's operation to meet.
/// Returns the number of the store; 0 is the newest. `name` returns the name of the store with a
/// given number. `overtaken` returns the number of the event that made the next newer store.
pub(crate) fn choose_store(
    offered: u32,
    name: &dyn Fn(u32) -> u64,
    overtaken: &dyn Fn(u32) -> u32,
) -> u32 {
    if offered < 2 {
        return 0;
    }
    with(|execution| {
        let choice = execution.choose_outcome(offered, Outcomes::Late(name));
        if choice != 0 {
            let overtaken = overtaken(choice);
            execution.recording.late_effects += 1;
            execution.running().note = Note::late(overtaken);
            execution.report_late_effect(overtaken);
        }
        choice
    })
    .unwrap_or(0)
}

/// The version of the object at `object`: the number of its changes. 0 outside an execution.
pub(crate) fn version_of(object: usize) -> u32 {
    with(|execution| {
        let object = execution.object(object);
        execution.objects.get(object).version
    })
    .unwrap_or(0)
}

/// Sets the version that the next event of the running task reads from its object. The detection of
/// spins uses this version instead of the newest one.
pub(crate) fn reads_version(version: u32) {
    with(|execution| execution.running().reads_version = Some(version));
}
