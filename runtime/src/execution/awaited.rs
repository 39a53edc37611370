//! The waits for resources in one execution.

use super::TaskId;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

/// A resource that a task waits for.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    pub(super) resource: ObjectId,
    pub(super) task: TaskId,
    /// The task waits for any of its resources, not for all.
    pub(super) is_any: bool,
    /// The position of the resource among those that the task waits for.
    pub(super) place: usize,
    pub(super) is_signalled: bool,
}

/// The waits for resources in the running execution, in the order in which they began.
pub(crate) struct Resources {
    pub(super) awaited: EngineVec<Awaited>,
}

impl Resources {
    pub(super) const fn new() -> Self {
        Self {
            awaited: engine_vec(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.awaited.clear();
    }

    /// The task of the wait with the index `place` in `awaited`.
    pub(super) fn task_at(&self, place: usize) -> TaskId {
        self.awaited[place].task
    }

    /// Whether a signal of `resource` reaches `wait`. The signal reaches a wait for `resource` that
    /// is not signalled yet. If the task waits for any of several resources, none of these
    /// resources may be signalled yet.
    pub(super) fn is_reached(&self, wait: &Awaited, resource: ObjectId) -> bool {
        let mut own = self.awaited.iter().filter(|it| it.task == wait.task);
        wait.resource == resource
            && !wait.is_signalled
            && !(wait.is_any && own.any(|it| it.is_signalled))
    }

    /// Ends the wait of `task`. Returns the position, from 0, of the first signalled resource among
    /// those that the task waited for. If none is signalled, the result is also 0.
    pub(super) fn end_wait(&mut self, task: TaskId) -> usize {
        let mut own = self.awaited.iter().filter(|it| it.task == task);
        let place = own.find(|it| it.is_signalled).map_or(0, |it| it.place);
        self.awaited.retain(|it| it.task != task);
        place
    }

    /// Whether the wait of `task` is over.
    pub(super) fn is_over(&self, task: TaskId) -> bool {
        let mut own = self.awaited.iter().filter(|it| it.task == task);
        own.clone().all(|it| it.is_signalled) || own.any(|it| it.is_any && it.is_signalled)
    }
}
