//! Tasks that compute without end. They are set aside, so that the other tasks continue without
//! them.
//!
//! Control passes to another task only at scheduling points. So a task that computes without end
//! keeps all other tasks from running. The zygote (the process that watches the explorer) detects
//! that a task reaches no scheduling point, and ends the explorer. The search restarts, and now
//! knows the history of the task, which is the hash of the happens-before of the task's last event.
//! The behaviour of a task up to its next scheduling point depends on its history alone, so a task
//! with the same history would compute equally long. Such a task is set aside right after that
//! event, unless the event is recorded before its operation is complete. In that case, the
//! execution ends if the test's body has returned, as the end of a process ends all threads.
//!
//! An execution that takes steps without end is the subject of `step_limit.rs`.

use core::time::Duration;

use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};

/// The maximum number of known histories in one exploration: each costs a restart of the search.
const MOST: usize = 64;

/// The processor time after which a task counts as one that computes without end, after the test's
/// body has returned.
pub(crate) const AFTER_BODY: Duration = Duration::from_secs(1);
/// The processor time after which a task counts as one that computes without end, while the test's
/// body runs. It is longer than [`AFTER_BODY`], because the test may still wait for a result of
/// the task.
pub(crate) const WITHIN_BODY: Duration = Duration::from_secs(10);

/// A history after which a task computes without end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(super) history: u64,
    /// The task computed while the test's body ran, for [`WITHIN_BODY`], or for the watchdog's time
    /// if that is less.
    pub(super) within_body: bool,
}

codec!(Known {
    history,
    within_body,
});

/// The known tasks that compute without end.
pub(crate) struct Endless {
    pub(crate) known: EngineVec<Known>,
    /// In the running execution, a task that computes without end was set aside, or ended the
    /// execution.
    pub(crate) is_met: bool,
    /// The other tasks continued without the task that was set aside, before the test's body had
    /// returned.
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

    /// Remembers a history. Returns `false` if the history is already known, or if there is no room
    /// for it.
    pub(crate) fn learn(&mut self, news: Known) -> bool {
        if self.known.contains(&news) || self.known.len() == MOST {
            return false;
        }
        self.known.push(news);
        true
    }

    pub(super) fn contains(&self, history: u64, within_body: bool) -> bool {
        let fits = |known: &Known| known.history == history && (known.within_body || !within_body);
        self.known.iter().any(fits)
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
