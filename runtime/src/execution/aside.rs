//! Code of tasks that runs as if its thread were no task.

use super::current;
use super::current::TASK;
use super::watch::Watch;
use super::watcher::Watcher;
use crate::platform::unwind::return_addresses;

/// Makes the calling thread an ordinary one, in the child of a `fork`.
pub(crate) fn forget_task() {
    current::leave();
    Watcher::task_leaves();
}

/// Runs code of the current task as if the thread were no task: none of its operations is a
/// scheduling point.
pub(crate) fn aside(code: impl FnOnce()) {
    let _aside = Aside::step();
    code();
}

/// While it lives, the calling thread is no task.
pub(crate) struct Aside {
    task: u32,
    paused: <Watcher as Watch>::Paused,
}

impl Aside {
    pub(crate) fn step() -> Self {
        Self {
            task: TASK.replace(0),
            paused: Watcher::pause(),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        TASK.set(self.task);
        Watcher::resume(&self.paused);
    }
}

/// Writes the return addresses of the calls in progress, the innermost first. Returns their number.
pub(super) fn calls_in_progress(addresses: &mut [usize]) -> usize {
    let mut count = 0;
    aside(|| count = return_addresses(addresses));
    count
}
