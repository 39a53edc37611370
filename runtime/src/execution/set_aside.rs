//! Sets aside the tasks that compute without end.

use super::TaskId;
use super::endless_computation::{AFTER_BODY, Known, WITHIN_BODY};
use super::running::Running;
use super::state::{Ending, Execution};
use super::task::{State, Wait};
use super::terms::{Step, Wake};

use core::time::Duration;

impl Execution {
    /// The history to remember if the current task computes without end, and the time after which
    /// the task counts as such. `None` if the task has ended, or if its history is known already.
    /// While the test's body runs, also `None` for the body itself, and if no other task is
    /// enabled.
    pub(crate) fn endless_if_silent(&self) -> Option<(Known, Duration)> {
        let (current, task) = self.live_tasks().nth(self.schedule.current.0 as usize)?;
        let within_body = !self.body_done;
        let others = || self.schedule.enabled.iter().any(|other| other != current);
        if task.state == State::Finished || within_body && (current == TaskId(0) || !others()) {
            return None;
        }
        let known = Known {
            history: task.last_event,
            within_body,
        };
        if self.endless.contains(known.history, within_body) {
            return None;
        }
        let time = if within_body { WITHIN_BODY } else { AFTER_BODY };
        Some((known, time))
    }

    /// As [`look`], and returns the next step.
    #[cold]
    fn meet_endless(&mut self, is_done: bool) -> Step {
        let history = self.running().last_event;
        if !self.endless.contains(history, !self.body_done) {
            return Step::Continue;
        }
        if is_done {
            self.endless.is_met = true;
            self.endless.is_missed |= !self.body_done;
            self.block(Wait::Computation, None);
            self.decide(false)
        } else if self.body_done {
            self.endless.is_met = true;
            self.end(Ending::Finished)
        } else {
            Step::Continue
        }
    }

    /// Enables the tasks that were set aside, so that they compute. Called only if no task is
    /// enabled. Returns whether a task was set aside.
    #[cold]
    pub(super) fn enable_set_aside(&mut self) -> bool {
        let mut found = false;
        for id in (0..self.schedule.live as u32).map(TaskId) {
            if self.task(id).state == State::Blocked(Wait::Computation) {
                self.wake(id, Wake::Notified);
                found = true;
            }
        }
        found
    }
}

/// Sets the current task aside after its event was recorded, if it is known to compute without end
/// from there. `is_done` states whether its operation is complete. If it is not, the task
/// continues, or the execution ends if the test's body has returned.
#[inline]
pub(super) fn look(execution: Running, is_done: bool) {
    if !execution.with(|it| it.endless.known.is_empty()) {
        meet(execution, is_done);
    }
}

// Not inlined: each operation ends with this, and hardly any execution needs it.
#[cold]
#[inline(never)]
fn meet(execution: Running, is_done: bool) {
    execution.step(|it| it.meet_endless(is_done));
}
