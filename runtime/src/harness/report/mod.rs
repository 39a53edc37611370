//! Reports to the supervisor: the lines of the protocol.

mod execution;
mod failure_messages;
mod finished;
mod happens_before;
pub(super) mod note_and_object;

use super::json::Object;
use super::{Exploration, Milestone};
pub(super) use execution::shows_object;
pub(super) use failure_messages::{given_up, in_words, vacuous};
pub(super) use finished::{Verdict, finished};

/// The line for a request that cannot be served.
pub(super) fn error(message: &str) -> String {
    Object::new()
        .string("type", "error")
        .string("message", message)
        .finish()
}

/// The line for the progress of a search.
pub(super) fn progress(exploration: &Exploration) -> String {
    Object::new()
        .string("type", "progress")
        .number("schedules", exploration.schedules)
        .number("executions", exploration.executions)
        .number("bound", exploration.progress.bound.unwrap_or(0).into())
        .array("milestones", exploration.milestones.iter().map(milestone))
        .finish()
}

fn milestone(milestone: &Milestone) -> String {
    Object::new()
        .optional_number("bound", milestone.bound.map(u64::from))
        .optional_number("explored", milestone.explored)
        .finish()
}
