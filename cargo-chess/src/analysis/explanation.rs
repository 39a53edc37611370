//! A failure with the data that its report needs.

use crate::config::Exploration;
use crate::events::TestFinished;
use crate::protocol::Finished;
use crate::schedule::Schedule;

/// The data of a failure that a `test-finished` event leaves out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Detail {
    /// The options that the test was explored with.
    pub exploration: Exploration,
    /// The verdict with the failing execution.
    pub finished: Finished,
    /// The output of the test process on standard error.
    pub stderr: String,
    /// The schedule, if one was saved.
    pub schedule: Option<Schedule>,
}

impl Detail {
    /// The message of the failure for people. The message in `finished`, which has the names of
    /// objects, has precedence over the message in `test`.
    pub(crate) fn message<'a>(&'a self, test: &'a TestFinished) -> Option<&'a str> {
        let own = self.finished.message.as_ref();
        own.or(test.message.as_ref()).map(String::as_str)
    }
}

/// A failure, and the comparison with a schedule that passes.
pub(crate) struct Explanation {
    /// The verdict of the replay.
    pub(crate) test: TestFinished,
    /// The verdict and the output of the replay, with its execution.
    pub(crate) detail: Detail,
    /// The nearest schedule that passes, if one was found.
    pub(crate) passing: Option<Passing>,
    /// The number of schedules that were run to find one that passes.
    pub(crate) tried: usize,
    /// Whether the sources have changed since the schedule was saved.
    pub(crate) sources_changed: bool,
}

/// A schedule that passes. It is the same as the failing one up to a decision.
pub(crate) struct Passing {
    /// The verdict on the schedule, with its execution.
    pub(crate) finished: Finished,
    /// The index of the decision in the failing schedule.
    pub(crate) decision: usize,
    /// The task or the outcome that the passing schedule chooses at this decision.
    pub(crate) instead: u32,
}
