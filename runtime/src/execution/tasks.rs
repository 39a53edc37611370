//! The tasks of an execution, and the one that runs.

use core::ops::{Deref, DerefMut};
use core::ptr;

use super::TaskId;
use super::task::Task;
use crate::platform::memory::{EngineVec, engine_vec};

/// All tasks that executions have had so far: the first ones serve the one at hand.
pub(crate) struct Tasks {
    all: EngineVec<Task>,
    /// Points to the task that runs, which every operation asks for many times; null
    /// before the first one exists.
    running: *mut Task,
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Self {
            all: engine_vec(),
            running: ptr::null_mut(),
        }
    }

    /// Adds a task; the one that runs is the same as before, or else the first.
    pub(crate) fn push(&mut self, task: Task) {
        let running = if self.running.is_null() {
            0
        } else {
            // SAFETY: both point into the vector's memory.
            unsafe { self.running.offset_from_unsigned(self.all.as_ptr()) }
        };
        self.all.push(task);
        self.running = &raw mut self.all[running];
    }

    /// `task` runs from now on.
    ///
    /// # Panics
    /// If there is no such task, unless there is none at all.
    #[inline]
    pub(crate) fn run(&mut self, task: TaskId) {
        if !self.all.is_empty() {
            self.running = &raw mut self.all[task.0 as usize];
        }
    }

    /// The task that runs.
    #[inline]
    pub(crate) fn running(&self) -> &Task {
        debug_assert!(!self.running.is_null(), "an execution has a task");
        // SAFETY: it points to an element of `all`, which only `push` moves; an execution
        // adds its first task before anything asks for the one that runs.
        unsafe { &*self.running }
    }

    /// The task that runs.
    #[inline]
    pub(crate) fn running_mut(&mut self) -> &mut Task {
        debug_assert!(!self.running.is_null(), "an execution has a task");
        // SAFETY: as in `running`; nobody else has a reference, since `self` is borrowed.
        unsafe { &mut *self.running }
    }
}

impl Deref for Tasks {
    type Target = [Task];

    #[inline]
    fn deref(&self) -> &[Task] {
        &self.all
    }
}

impl DerefMut for Tasks {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Task] {
        &mut self.all
    }
}
