//! The state of tasks as the scheduler sees it: blocked, runnable, yielding.

use super::fairness::LONG_TIMEOUT;
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::Wake;
use super::{Note, TaskId};

impl Execution {
    /// Blocks `task` forever. The task must not be the current one, and must not have ended.
    #[cold]
    pub(super) fn stop_task(&mut self, task: TaskId) {
        self.leave_wait(task);
        self.schedule.enabled.remove(task);
        self.schedule.late.remove(task);
        self.resources.awaited.retain(|it| it.task != task);
        let stopped = self.task_mut(task);
        stopped.state = State::Blocked(Wait::Nothing);
        stopped.deadline = None;
        stopped.awaits = None;
    }

    /// Removes a blocked task from the counts of waiting tasks.
    #[inline]
    fn leave_wait(&mut self, task: TaskId) {
        match self.task(task).state {
            State::Blocked(Wait::Object(object)) => {
                let object = self.objects.get_mut(object);
                object.waiters = object.waiters.saturating_sub(1);
            }
            State::Blocked(Wait::Descriptors(..) | Wait::Outside(..)) => {
                self.descriptors.waiting -= 1;
            }
            _ => {}
        }
    }

    /// Makes a blocked task runnable.
    pub(crate) fn wake(&mut self, task: TaskId, wake: Wake) {
        self.leave_wait(task);
        let state = self.task(task).state;
        let step = self.log.trace.step();
        let deadline = self.task(task).deadline;
        let timed = deadline.map(|_| self.timed_object(task));
        let woken = self.task_mut(task);
        if wake == Wake::TimedOut && state != State::Blocked(Wait::Time) {
            woken.note = Note::TIMED_OUT;
        }
        // A task that waited for a lock depends on the lock's object, not on the waking step.
        if wake == Wake::Notified && !matches!(state, State::Blocked(Wait::Lock(..))) {
            woken.waker = step;
        }
        woken.state = State::Runnable;
        woken.deadline = None;
        woken.timed = timed;
        woken.wake = wake;
        woken.idle_yields = 0;
        self.schedule.late.remove(task);
        if !self.schedule.enabled.contains(task) {
            self.schedule.enabled.insert(task);
            self.schedule.fairness.enabled(task, self.budget.steps);
        }
    }

    /// Records a yield of the current task for the fair scheduler.
    pub(super) fn yield_fairly(&mut self) {
        let progressed = self.running().spin.take_progress();
        let (task, step) = (self.schedule.current, self.budget.steps);
        let tasks = &self.schedule.tasks;
        let has_long_timeout = |late: TaskId| {
            let late = &tasks[late.0 as usize];
            let deadline = late.deadline.unwrap_or(0);
            let timeout = deadline.saturating_sub(late.waits_since);
            late.state != State::Blocked(Wait::Time) && timeout >= LONG_TIMEOUT
        };
        self.schedule.fairness.yielded(
            task,
            progressed,
            step,
            &self.schedule.enabled,
            &self.schedule.late,
            has_long_timeout,
        );
    }

    /// Blocks the current task. A task with a deadline stays enabled, because it can time out.
    pub(crate) fn block(&mut self, wait: Wait, deadline: Option<u64>) {
        let current = self.schedule.current;
        match wait {
            Wait::Object(object) => self.objects.get_mut(object).waiters += 1,
            Wait::Descriptors(..) | Wait::Outside(..) => self.descriptors.waiting += 1,
            Wait::Task(task) => self.task_mut(task).is_awaited = true,
            _ => {}
        }
        self.schedule.waits += 1;
        let place = self.schedule.waits;
        let task = self.running();
        task.state = State::Blocked(wait);
        task.queue = place;
        task.deadline = deadline;
        if deadline.is_some() {
            self.running().waits_since = self.clock;
            self.could_be_early |= self.schedule.live > 1;
            self.begin_timed(wait);
            self.schedule.late.insert(current);
            // A timed wait is a yield (PLDI'08, section on fairness; for Rust also
            // park_timeout, recv_timeout and sleep).
            self.budget.last_wait = self.budget.steps;
            if self.body_done {
                self.running().idle_yields += 1;
            }
            self.yield_fairly();
        } else {
            self.schedule.enabled.remove(current);
        }
    }
}
