//! Code of tasks that runs as if its thread were no task.

use super::current;
use super::current::TASK;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks;
use crate::platform::unwind::return_addresses;

/// Records that the calling thread is no task any more. Called in the child of a `fork`.
pub(crate) fn forget_task() {
    current::leave();
    Hooks::task_leaves();
}

/// Runs code of the current task as if the thread were no task: none of its operations is a
/// scheduling point.
pub(crate) fn detached(code: impl FnOnce()) {
    let _detached = Detached::step();
    code();
}

/// While this value lives, the calling thread is no task.
pub(crate) struct Detached {
    task: u32,
    paused: <Hooks as MonitorHooks>::Paused,
}

impl Detached {
    pub(crate) fn step() -> Self {
        Self {
            task: TASK.replace(0),
            paused: Hooks::pause(),
        }
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        TASK.set(self.task);
        Hooks::resume(&self.paused);
    }
}

/// Writes the return addresses of the calls in progress, the innermost first. Returns their number.
pub(super) fn calls_in_progress(addresses: &mut [usize]) -> usize {
    let mut count = 0;
    detached(|| count = return_addresses(addresses));
    count
}
