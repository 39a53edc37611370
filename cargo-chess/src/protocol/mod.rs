//! The lines in which a test binary answers the supervisor.

mod early_timeouts;
mod execution;
mod finished;
mod note;
mod object;
mod outside_effect;
mod token;
mod warned;
mod warning;

use chess_vocabulary::{Note, Op};
use serde::{Deserialize, Serialize};

use crate::events::Location;
use execution::location;
pub(crate) use execution::{
    Blocked, Call, Caller, Decided, Divergence, Fate, Hot, Panic, Step, Task,
};
pub(crate) use finished::{Finished, Other};
pub(crate) use object::Object;
pub(crate) use outside_effect::OutsideEffect;

/// The progress of a search after a number of schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Milestone {
    /// The preemption bound of the last schedule.
    #[serde(default)]
    pub bound: Option<u32>,
    /// The part of the space that was explored, in millionths, if the strategy estimates it.
    #[serde(default)]
    pub explored: Option<u64>,
}

/// One line of a test binary's standard output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Line {
    /// The exploration continues.
    Progress {
        /// The number of schedules explored so far.
        schedules: u64,
        /// The preemption bound being explored.
        bound: Option<u32>,
        /// The progress of the search after each 10,000 schedules.
        #[serde(default)]
        milestones: Vec<Milestone>,
    },
    /// The file that the test process shares with the supervisor has a state of the search. After
    /// a kill, a later run continues from this state.
    State {
        /// The number of schedules up to this state.
        schedules: u64,
    },
    /// The next event of a replay that is traced.
    Event {
        /// The number of the event, from 1.
        number: u64,
        /// The event.
        #[serde(flatten)]
        what: LiveEvent,
    },
    /// In a replay that is traced, a task is preempted before this operation.
    Preemption(LiveEvent),
    /// In a replay that is traced, a task panics.
    Panicked(LiveEvent),
    /// A process waits for a debugger, and then runs the schedule.
    Debuggee {
        /// The id of the process.
        process: u32,
    },
    /// A debugger has attached to the process.
    Debugging,
    /// The request could not be served.
    Error {
        /// The reason, in a sentence.
        message: String,
    },
    /// The verdict; nothing follows.
    Finished(Box<Finished>),
    /// A line of a kind that this version does not know. Such a line only shows that the process
    /// is not silent.
    #[serde(other)]
    Unknown,
}

/// An event of one task, reported when it happens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct LiveEvent {
    /// The task.
    pub task: u32,
    /// The name that the program gave the task.
    #[serde(default)]
    pub name: Option<String>,
    /// The operation of the event.
    #[serde(default, with = "token::optional")]
    pub op: Option<Op>,
    /// The object of the operation.
    #[serde(default)]
    pub object: Option<Object>,
    /// The source file.
    #[serde(default)]
    pub file: Option<String>,
    /// The line in the source file.
    #[serde(default)]
    pub line: Option<u32>,
    /// The column in the source file.
    #[serde(default)]
    pub column: Option<u32>,
    /// The choice of the search for the operation, or the task that the operation woke.
    #[serde(default, with = "note")]
    pub note: Option<Note>,
}

impl LiveEvent {
    /// The source line, if it is known.
    pub(crate) fn location(&self) -> Option<Location> {
        location(self.file.as_ref(), self.line, self.column)
    }
}

/// An event without an object or a place, for tests.
#[cfg(test)]
pub(crate) fn step(task: u32, op: Op) -> Step {
    Step {
        task,
        op,
        object: None,
        file: None,
        line: None,
        column: None,
        preempted: false,
        note: None,
        hold: None,
        gives: None,
        after: Vec::new(),
        call: None,
        caller: None,
        effect: None,
        read: None,
        written: None,
    }
}

/// The operation of this name, for tests.
#[cfg(test)]
pub(crate) fn op_named(name: &str) -> Op {
    use chess_vocabulary::Token as _;

    let mut ops = Op::ALL.iter().copied();
    ops.find(|op| op.name() == name)
        .unwrap_or_else(|| panic!("there is an operation {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Outcome;

    #[test]
    fn a_line_of_a_newer_runtime_is_a_sign_of_life() {
        let line: Line = serde_json::from_str(r#"{"type":"heartbeat","at":7}"#).expect("a line");
        assert_eq!(line, Line::Unknown);
    }

    const LEAST: &str = r#"{"type":"finished","outcome":"passed","schedules":0,"executions":0,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0}"#;

    #[test]
    fn a_verdict_may_leave_out_fields_that_do_not_apply() {
        let line: Line = serde_json::from_str(LEAST).expect("a line");
        assert_eq!(
            line,
            Line::Finished(Box::new(Finished::new(Outcome::Passed)))
        );
    }

    #[test]
    fn a_verdict_without_an_outcome_or_a_count_is_an_error() {
        for field in [
            r#""outcome":"passed","#,
            r#","steps":0"#,
            r#","schedules":0"#,
        ] {
            let line = LEAST.replace(field, "");
            assert!(serde_json::from_str::<Line>(&line).is_err(), "{line}");
        }
    }
}
