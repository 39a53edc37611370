//! The fair scheduler of Musuvathi and Qadeer (PLDI'08, "Fair Stateless Model Checking").
//!
//! A task that yields gives way: it may not run again while a task that it has
//! starved is enabled. Starved are those that were enabled throughout its window
//! (the time since its last yield), or that it disabled itself, and that did not
//! run in it. The paper keeps three sets a task and updates each at every step;
//! here E and S are read off two step numbers a task, so that a step costs
//! nothing and a yield costs one pass over the tasks.

use super::TaskId;
use super::task_set::TaskSet;
use crate::platform::memory::{EngineVec, engine_vec};

/// What the scheduler knows of one task.
struct Window {
    /// Step of the last yield: the window's start.
    began: u64,
    /// No yield has been seen: the first one adds no edge.
    first: bool,
    /// D: tasks that this one disabled in its window.
    disabled: TaskSet,
    /// Step at which the task last ran.
    ran: u64,
    /// Step at which the task last became enabled.
    enabled: u64,
    /// P: tasks that this one must wait for while they are enabled.
    waits_for: TaskSet,
}

/// The state of the fair scheduler in one execution.
pub(crate) struct Fairness {
    windows: EngineVec<Window>,
    /// Tasks with a non-empty `waits_for`.
    restrained: u32,
}

impl Fairness {
    pub(crate) const fn new() -> Self {
        Self {
            windows: engine_vec(),
            restrained: 0,
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self, tasks: usize) {
        for window in self.windows.iter_mut().take(tasks) {
            window.disabled.clear();
            window.waits_for.clear();
        }
        self.restrained = 0;
    }

    /// A new task, enabled at `step`.
    #[inline]
    pub(crate) fn add(&mut self, task: TaskId, step: u64) {
        let at = task.0 as usize;
        if let Some(window) = self.windows.get_mut(at) {
            window.began = step;
            window.first = true;
            window.ran = 0;
            window.enabled = step;
        } else {
            self.windows.push(Window {
                began: step,
                first: true,
                disabled: TaskSet::new(),
                ran: 0,
                enabled: step,
                waits_for: TaskSet::new(),
            });
        }
    }

    /// `task` became enabled at `step`.
    #[inline]
    pub(crate) fn enabled(&mut self, task: TaskId, step: u64) {
        self.windows[task.0 as usize].enabled = step;
    }

    /// `by` disabled `task`.
    #[inline]
    pub(crate) fn disabled(&mut self, task: TaskId, by: TaskId) {
        self.windows[by.0 as usize].disabled.insert(task);
    }

    /// `task` runs at `step`: nobody waits for it any more.
    #[inline]
    pub(crate) fn ran(&mut self, task: TaskId, step: u64) {
        self.windows[task.0 as usize].ran = step;
        if self.restrained != 0 {
            self.serve(task);
        }
    }

    fn serve(&mut self, task: TaskId) {
        for window in &mut self.windows {
            if window.waits_for.contains(task) {
                window.waits_for.remove(task);
                if window.waits_for.is_empty() {
                    self.restrained -= 1;
                }
            }
        }
    }

    /// `task` yields at `step`, where `enabled` are the enabled tasks.
    pub(crate) fn yielded(&mut self, task: TaskId, step: u64, enabled: &TaskSet) {
        let at = task.0 as usize;
        let began = self.windows[at].began;
        if self.windows[at].first {
            self.windows[at].first = false;
        } else {
            let mut starved = core::mem::replace(&mut self.windows[at].disabled, TaskSet::new());
            for other in enabled.iter() {
                if self.windows[other.0 as usize].enabled <= began {
                    starved.insert(other);
                }
            }
            let was_free = self.windows[at].waits_for.is_empty();
            for other in starved.iter() {
                if other != task && self.windows[other.0 as usize].ran <= began {
                    self.windows[at].waits_for.insert(other);
                }
            }
            if was_free && !self.windows[at].waits_for.is_empty() {
                self.restrained += 1;
            }
        }
        self.windows[at].disabled.clear();
        self.windows[at].began = step;
    }

    /// Whether any task is held back.
    #[inline]
    pub(crate) fn restrains(&self) -> bool {
        self.restrained != 0
    }

    /// Whether `task` may run while `enabled` are the enabled tasks.
    pub(crate) fn allows(&self, task: TaskId, enabled: &TaskSet) -> bool {
        !self.windows[task.0 as usize].waits_for.intersects(enabled)
    }
}
