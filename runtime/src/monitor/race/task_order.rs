//! The tasks of one execution: their clocks, and the entries of tasks in clocks. For the rules by
//! which atomic operations order tasks, see `release_acquire.rs`.

use super::clock::{Clock, Epoch, Epochs, Owner};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::TaskId;

/// An empty range of epochs, as the value of [`TaskOrder::window`].
pub(super) const NO_WINDOW: (Epoch, Epoch) = (1, 0);

/// The maximum number of entries of a clock. A new task reuses the entry of an ended task, if the
/// creator of the new task knows of that end. Otherwise the new task needs a new entry.
pub(crate) const MOST_TASKS: usize = 1024;

/// The number of recently ended tasks that are searched for a free entry.
const CANDIDATES: usize = 32;

/// The epochs of a task, and its knowledge about other tasks.
pub(super) struct TaskOrder {
    /// The current epoch of the task. 0 if the last epoch has ended and the next one has not begun.
    pub(super) epoch: Epoch,
    /// The newest epoch of the task; 0 if there is none.
    pub(super) last: Epoch,
    /// The newest epoch of the task that has ended; 0 if there is none.
    pub(super) ended: Epoch,
    /// The first epoch of the task that no release has ended; 0 if there is none.
    pub(super) open: Epoch,
    /// The newest epoch of the task at its last arrival before an operation. This field and the
    /// next two are kept only for [`FencesOfAll::Expected`](super::FencesOfAll).
    pub(super) arrived: Epoch,
    /// Whether the operation of that arrival is atomic.
    pub(super) arrives_at_atomic: bool,
    /// The newest epoch after whose accesses the task has performed an atomic operation.
    pub(super) performed: Epoch,
    /// The first and the last epoch of a range. All epochs of this range happened before the task's
    /// next operation, or are the task's own.
    pub(super) window: (Epoch, Epoch),
    /// The index of the task's entry in clocks.
    pub(super) entry: u16,
    pub(super) clock: Clock,
    /// The task's clock at its last releasing fence.
    pub(super) released: Clock,
    /// The clock in `released` is the clock at a sequentially consistent exchange, which counts as
    /// a fence on x86: see `IS_X86` in `release_acquire.rs`.
    pub(super) has_released_by_exchange: bool,
    /// The clock that the task learns at its next acquiring fence. It joins the clocks of the
    /// stores that loads without an acquiring ordering have read.
    pub(super) readable: Clock,
    /// The task has called opaque code. Other tasks may wait in opaque code for operations of this
    /// task.
    pub(super) is_unseen: bool,
}

/// The tasks of one execution.
pub(super) struct Tasks {
    pub(super) all: EngineVec<TaskOrder>,
    /// The number of `all` that belong to this execution.
    pub(super) live: usize,
    /// The number of entries of clocks that this execution uses.
    pub(super) entries: usize,
    /// Tasks that have ended and whose entries are free.
    pub(super) ended: EngineVec<u32>,
}

impl Tasks {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            live: 0,
            entries: 0,
            ended: engine_vec(),
        }
    }

    /// Begins a new execution.
    pub(super) fn begin(&mut self) {
        self.live = 0;
        self.entries = 0;
        self.ended.clear();
    }

    #[inline]
    pub(super) fn get(&self, task: TaskId) -> &TaskOrder {
        &self.all[task.0 as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, task: TaskId) -> &mut TaskOrder {
        &mut self.all[task.0 as usize]
    }

    /// Joins the clock of `other` into the clock of `task`.
    pub(super) fn learn(&mut self, task: TaskId, other: TaskId) {
        let (task, other) = (task.0 as usize, other.0 as usize);
        if let Ok([own, other]) = self.all.get_disjoint_mut([task, other]) {
            own.clock.join(&other.clock);
        }
    }

    /// As [`Self::learn`], without those accesses of `other` after which `other` has performed no
    /// atomic operation yet.
    pub(super) fn learn_performed(&mut self, task: TaskId, other: TaskId) {
        let (task, other) = (task.0 as usize, other.0 as usize);
        if let Ok([own, other]) = self.all.get_disjoint_mut([task, other]) {
            let known = own.clock.get(other.entry);
            own.clock.join(&other.clock);
            own.clock.set(other.entry, known.max(other.performed));
        }
    }

    /// Records that `task` has performed its last operation.
    pub(super) fn end(&mut self, task: TaskId) {
        self.ended.push(task.0);
    }

    /// An entry in clocks for a task that `parent` creates. `None` if no entry is left.
    pub(super) fn entry(&mut self, parent: Option<TaskId>) -> Option<u16> {
        if let Some(parent) = parent {
            let clock = &self.get(parent).clock;
            let last = self.ended.iter().enumerate().rev().take(CANDIDATES);
            let is_over = |&(_, &task): &(usize, &u32)| {
                let ended = self.get(TaskId(task));
                clock.get(ended.entry) >= ended.last
            };
            let found = last.into_iter().find(is_over).map(|(place, _)| place);
            if let Some(place) = found {
                let ended = TaskId(self.ended.swap_remove(place));
                return Some(self.get(ended).entry);
            }
        }
        let next = self.entries;
        if next == MOST_TASKS {
            return None;
        }
        self.entries += 1;
        Some(next as u16)
    }
}

/// Whether the accesses of `epoch` happened before the next operation of `task`, whose clock is
/// `clock`. Always true if `epoch` is the number of a record.
#[inline]
pub(super) fn is_known(epochs: &Epochs, clock: &Clock, epoch: Epoch, task: TaskId) -> bool {
    match epochs.owner(epoch) {
        Owner::Task {
            task: owner, entry, ..
        } => owner == task.0 || clock.get(entry) >= epoch,
        Owner::Record(_) => true,
    }
}
