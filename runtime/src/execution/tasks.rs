//! The tasks of an execution, and the one that runs.

use core::ops::{Deref, DerefMut};
use core::ptr;

use super::TaskId;
use super::task::Task;
use crate::base::memory::{EngineVec, engine_vec};

/// The tasks of all executions so far, whose memory is reused. The first ones of `all` belong to
/// the current execution.
pub(crate) struct Tasks {
    all: EngineVec<Task>,
    /// Points to the running task, which every operation uses many times. Null before the first
    /// task exists.
    running: *mut Task,
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Self {
            all: engine_vec(),
            running: ptr::null_mut(),
        }
    }

    /// Adds a task. The running task stays the same. If there was none, the first task becomes the
    /// running one.
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

    /// Makes `task` the running task.
    ///
    /// # Panics
    /// If there are tasks, but no such task.
    #[inline]
    pub(crate) fn run(&mut self, task: TaskId) {
        if !self.all.is_empty() {
            self.running = &raw mut self.all[task.0 as usize];
        }
    }

    /// The running task.
    #[inline]
    pub(crate) fn running(&self) -> &Task {
        debug_assert!(!self.running.is_null(), "an execution has a task");
        // SAFETY: the pointer points to an element of `all`, which only `push` moves. An execution
        // adds its first task before any use of the running task.
        unsafe { &*self.running }
    }

    /// The running task.
    #[inline]
    pub(crate) fn running_mut(&mut self) -> &mut Task {
        debug_assert!(!self.running.is_null(), "an execution has a task");
        // SAFETY: as in `running`; no other reference exists, since `self` is borrowed.
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

/// The first of `count` tasks that fits, searched from the task `start` to the last and then from
/// the first. A test may spawn thousands of tasks, a few at a time. A caller that searches for
/// ended tasks begins after the task that it found last: the tasks that ended recently come there,
/// so the search is short.
pub(super) fn search_on(
    count: usize,
    start: usize,
    mut fits: impl FnMut(usize) -> bool,
) -> Option<usize> {
    let start = start.min(count);
    (start..count).chain(0..start).find(|&task| fits(task))
}

#[cfg(test)]
mod tests {
    use super::search_on;

    #[test]
    fn a_search_continues_after_the_last_find_and_misses_none() {
        let fitting = [1, 4, 7];
        let mut found = Vec::new();
        let mut start = 5;
        for _ in 0..4 {
            let at = search_on(9, start, |task| fitting.contains(&task)).expect("three fit");
            found.push(at);
            start = at + 1;
        }
        assert_eq!(found, [7, 1, 4, 7]);
        assert_eq!(search_on(9, 9, |_| true), Some(0));
        assert_eq!(search_on(9, 12, |_| true), Some(0));
        assert_eq!(search_on(9, 4, |_| false), None);
        assert_eq!(search_on(0, 0, |_| true), None);
    }

    /// Task 0 spawns 100 tasks and waits for them, repeatedly. Once the pool of 100 is used up,
    /// each task needs the donor of a task that has ended.
    #[test]
    fn the_search_for_a_donor_does_not_take_longer_with_each_task() {
        let mut has_donor = vec![true];
        let (mut start, mut looks) = (0, 0);
        for round in 0..200 {
            let ended = has_donor.len();
            for _ in 0..100 {
                if round > 0 {
                    let found = search_on(has_donor.len(), start, |task| {
                        looks += 1;
                        (1..ended).contains(&task) && has_donor[task]
                    });
                    let found = found.expect("100 tasks have ended");
                    has_donor[found] = false;
                    start = found + 1;
                }
                has_donor.push(true);
            }
        }
        assert!(looks < 2 * has_donor.len(), "{looks} looks");
    }
}
