//! The tasks of one execution as the scheduler sees them: which of them runs, and which can.

use super::TaskId;
use super::fairness::Fairness;
use super::task_set::TaskSet;
use super::tasks::Tasks;
use crate::base::memory::{EngineVec, engine_vec};

/// The tasks of one execution.
pub(crate) struct Schedule {
    pub(crate) tasks: Tasks,
    /// The number of `tasks` that belong to this execution.
    pub(crate) live: usize,
    /// A task that has ended may leave its donor (the thread that lends it a stack) to a new task.
    /// The next search for such a task begins at this index.
    pub(super) retired: usize,
    pub(crate) current: TaskId,
    /// The enabled tasks, including those that can continue only by timing out.
    pub(crate) enabled: TaskSet,
    /// The enabled tasks that can continue only by timing out.
    pub(crate) late: TaskSet,
    pub(crate) fairness: Fairness,
    /// Whether fairness has excluded an enabled task at a scheduling point of this execution.
    pub(crate) is_fair_only: bool,
    /// The tasks among which the scheduler chooses.
    pub(super) candidates: EngineVec<TaskId>,
    /// The number of waits that have begun, futex requeues included.
    pub(super) waits: u64,
}

impl Schedule {
    pub(super) const fn new() -> Self {
        Self {
            tasks: Tasks::new(),
            live: 0,
            retired: 0,
            current: TaskId(0),
            enabled: TaskSet::new(),
            late: TaskSet::new(),
            fairness: Fairness::new(),
            is_fair_only: false,
            candidates: engine_vec(),
            waits: 0,
        }
    }

    /// Begins a new schedule in the memory of this one.
    pub(super) fn clear(&mut self) {
        self.fairness.clear(self.live);
        self.enabled.clear();
        self.late.clear();
        // The fields are set in place: the process that watches the explorer may read the tasks at
        // any moment, and must never find fewer tasks than `live`.
        let Self {
            live,
            retired,
            waits,
            is_fair_only,
            tasks: _,
            current: _,
            enabled: _,
            late: _,
            fairness: _,
            candidates: _,
        } = self;
        (*live, *retired, *waits, *is_fair_only) = (0, 0, 0, false);
        self.run(TaskId(0));
    }

    /// Makes `task` the running task.
    #[inline]
    pub(super) fn run(&mut self, task: TaskId) {
        self.current = task;
        self.tasks.run(task);
    }
}
