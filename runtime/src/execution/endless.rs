//! Tasks that compute without end: they are set aside, so that the others continue without them.
//!
//! A fiber is not preempted while it computes. The zygote detects that a task reaches no scheduling
//! point, and ends the explorer. The search restarts, and now knows the task's history, which is
//! the hash of its last event's happens-before. The behaviour of a task up to its next scheduling
//! point depends on its history alone, so a task with the same history would compute equally long.
//! Such a task gives way permanently right after that event. It cannot do so if the event is
//! recorded before its operation is complete: then the execution ends if the test's body has
//! returned, as the end of the process ends all threads.

use core::time::Duration;

use super::schedule::Step;
use super::state::{Ending, Execution};
use super::task::{State, Wait};
use super::{TaskId, Wake, perform};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::stored::stored;

/// The maximum number of such histories in one exploration: each costs a restart of the search.
const MOST: usize = 64;

/// The processor time after which a task counts as one that computes without end, after the test's
/// body has returned.
pub(crate) const AFTER_BODY: Duration = Duration::from_secs(1);
/// The same, while the body runs: the test may still wait for a result.
pub(crate) const WITHIN_BODY: Duration = Duration::from_secs(10);

/// A history after which a task computes without end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    history: u64,
    /// The task computed for [`WITHIN_BODY`], or for the watchdog's time if that is less.
    within_body: bool,
}

stored!(Known {
    history,
    within_body,
});

/// The known tasks that compute without end.
pub(crate) struct Endless {
    pub(crate) known: EngineVec<Known>,
    /// In the running execution a task was set aside, or ended.
    pub(crate) is_met: bool,
    /// The other tasks continued without it before the test's body had returned.
    pub(crate) is_missed: bool,
}

impl Endless {
    pub(crate) const fn new() -> Self {
        Self {
            known: engine_vec(),
            is_met: false,
            is_missed: false,
        }
    }

    /// Begins a new execution.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.is_met = false;
        self.is_missed = false;
    }

    /// Remembers a history. Returns whether it is new and there is room for it.
    pub(crate) fn learn(&mut self, news: Known) -> bool {
        if self.known.contains(&news) || self.known.len() == MOST {
            return false;
        }
        self.known.push(news);
        true
    }

    fn contains(&self, history: u64, within_body: bool) -> bool {
        let fits = |known: &Known| known.history == history && (known.within_body || !within_body);
        self.known.iter().any(fits)
    }
}

impl Execution {
    /// The history to remember if the current task computes without end, and the time before it
    /// counts as such; `None` if no other task could continue without it.
    pub(crate) fn endless_if_silent(&self) -> Option<(Known, Duration)> {
        let (current, task) = self.live_tasks().nth(self.current.0 as usize)?;
        let within_body = !self.body_done;
        let others = || self.enabled.iter().any(|other| other != current);
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

    /// Handles the current task if it computes without end. `is_done` states whether its operation
    /// is complete.
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

    /// If no other task is enabled, lets the tasks that were set aside compute. Returns whether
    /// there are any.
    #[cold]
    pub(super) fn lets_compute(&mut self) -> bool {
        let mut found = false;
        for id in (0..self.live as u32).map(TaskId) {
            if self.task(id).state == State::Blocked(Wait::Computation) {
                self.wake(id, Wake::Notified);
                found = true;
            }
        }
        found
    }
}

/// Sets the current task aside after its event was recorded, if it would only compute. `is_done`
/// states whether its operation is complete.
///
/// # Safety
/// As [`perform`].
#[inline]
pub(super) unsafe fn look(execution: *mut Execution, is_done: bool) {
    // SAFETY: the caller's promise; no reference lives across `perform`.
    unsafe {
        if !(*execution).endless.known.is_empty() {
            perform((*execution).meet_endless(is_done));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_only_given_little_time_counts_only_after_the_body() {
        let mut endless = Endless::new();
        let known = |history, within_body| Known {
            history,
            within_body,
        };
        assert!(endless.learn(known(7, false)));
        assert!(!endless.learn(known(7, false)), "no news");
        assert!(endless.contains(7, false) && !endless.contains(7, true));
        assert!(endless.learn(known(7, true)));
        assert!(endless.contains(7, false) && endless.contains(7, true));
        assert!(!endless.contains(8, false));
    }

    #[test]
    fn so_many_histories_are_learnt_and_no_more() {
        let mut endless = Endless::new();
        let news = |history| Known {
            history,
            within_body: false,
        };
        let learnt = (0..1_000).filter(|&history| endless.learn(news(history)));
        assert_eq!(learnt.count(), MOST);
    }
}
