//! The execution of a verdict: its tasks, its events, and its end.

use chess_vocabulary::{Effect, Hold, Note, Op};
use serde::{Deserialize, Serialize};

use super::object::Object;
use super::{note, token};
use crate::events::Location;
use crate::text::source_path;

/// A task of the reported execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The number of the task. Task 0 runs the test's body.
    pub id: u32,
    /// The name that the program gave the task.
    pub name: Option<String>,
}

/// One event of the reported execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The task that acted.
    pub task: u32,
    /// The operation that was performed.
    #[serde(with = "token")]
    pub op: Op,
    /// The object of the operation.
    #[serde(default)]
    pub object: Option<Object>,
    /// The source file, if it is known.
    pub file: Option<String>,
    /// The line in the source file.
    pub line: Option<u32>,
    /// The column in the source file.
    pub column: Option<u32>,
    /// Whether the task was preempted just before this operation. The task performed the operation
    /// after it was resumed.
    #[serde(default)]
    pub preempted: bool,
    /// The choice of the search for this operation, or the task that this operation woke.
    #[serde(default, with = "note")]
    pub note: Option<Note>,
    /// The effect of the operation on its object, if the object is a lock.
    #[serde(default, with = "token::optional")]
    pub hold: Option<Hold>,
    /// The lock that the task released during the wait.
    #[serde(default)]
    pub gives: Option<Object>,
    /// The indices of the events of other tasks that happen directly before this event, in the
    /// happens-before order. Only replays report them.
    #[serde(default)]
    pub after: Vec<usize>,
    /// The innermost call in progress, as an index into the calls of the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The statement of the user's code that led to the event, if it happened in other code.
    #[serde(default)]
    pub caller: Option<Caller>,
    /// The effect of the operation on its object. Like `read` and `written`, it is reported only
    /// for the last run of a failure and for replays.
    #[serde(default, with = "token::optional")]
    pub effect: Option<Effect>,
    /// The value of an atomic before the operation.
    #[serde(default)]
    pub read: Option<String>,
    /// The value of an atomic after the operation.
    #[serde(default)]
    pub written: Option<String>,
}

/// A statement of the user's code whose call of other code was in progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Caller {
    /// The place of the statement.
    pub location: Location,
    /// The called function: `DashMap::insert`.
    pub function: Option<String>,
    /// Whether the call is the drop of a value, such as a guard.
    #[serde(default)]
    pub drops: bool,
    /// Whether the called code is `atomic`: then the call is one step.
    pub is_atomic: bool,
    /// Whether the previous event of the task was also within a call by this statement. That call
    /// may be the same one, or one of an earlier iteration.
    pub goes_on: bool,
}

/// A call in progress at an event: the index of the call within which it was made, if there is
/// one, and its return address.
pub(crate) type Call = (Option<u32>, u64);

/// A decision of a replayed schedule, with its alternatives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Decided {
    /// The number of events before the decision.
    pub event: usize,
    /// The task that was to run; `None` if an outcome was chosen.
    #[serde(default)]
    pub task: Option<u32>,
    /// The outcome of an operation, if an outcome was chosen.
    #[serde(default)]
    pub outcome: Option<u32>,
    /// The number of options that cost nothing. These options come first. Each other option costs
    /// as much as a preemption.
    pub free: usize,
    /// The options: tasks or outcomes. The first one is the default.
    pub options: Vec<u32>,
}

/// A task that waits at the end of the reported execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Blocked {
    /// The task that waits.
    pub task: u32,
    /// The operation in which the task waits.
    #[serde(with = "token")]
    pub op: Op,
    /// The object for which the task waits.
    #[serde(default)]
    pub object: Option<Object>,
    /// The source file, if it is known.
    pub file: Option<String>,
    /// The line in the source file.
    pub line: Option<u32>,
    /// The column in the source file.
    pub column: Option<u32>,
    /// The last known source line of the task, if it waits in opaque code.
    #[serde(default)]
    pub after: Option<Location>,
    /// The task that holds the object.
    #[serde(default)]
    pub holder: Option<u32>,
    /// The place at which the holder acquired the object.
    #[serde(default)]
    pub held_at: Option<Location>,
    /// Whether the task was preempted before it waited.
    #[serde(default)]
    pub preempted: bool,
    /// The innermost call in progress, as an index into the calls of the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The statement of the user's code that led to the wait, if the task waits in other code.
    #[serde(default)]
    pub caller: Option<Caller>,
    /// The choice of the search for this operation.
    #[serde(default, with = "note")]
    pub note: Option<Note>,
}

/// A panic of the reported execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Panic {
    /// The task that panicked.
    pub task: u32,
    /// The number of events before the panic.
    pub event: usize,
    /// The message of the panic.
    pub message: String,
    /// The source line of the panic.
    pub location: Location,
    /// The consequence of the panic, if the panic ended its task.
    #[serde(default)]
    pub fate: Option<Fate>,
}

/// A liveness property of the test that is hot at the end of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hot {
    /// The name of the property.
    pub name: String,
    /// The line of the last operation that made the property hot.
    pub since: Location,
}

/// The consequence of a panic that ended its task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fate {
    /// The test failed with this panic.
    Failed,
    /// A task joined the panicked task, and so received the panic.
    Joined,
    /// No task received the panic.
    Unseen,
}

/// The decision at which a replayed schedule no longer fits the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Divergence {
    /// The index of the decision, from 0.
    pub step: u64,
    /// The task that was to run; `None` if the schedule has an outcome there.
    #[serde(default)]
    pub task: Option<u32>,
    /// The outcome that the schedule has at the decision; `None` if it has a task.
    #[serde(default)]
    pub outcome: Option<u32>,
    /// Whether the program had ended before this decision.
    pub ended: bool,
}

impl Step {
    /// Whether `other` is the same operation of the same task at the same place, with the same
    /// choice of the search. The values that the operations read and wrote may differ.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        (self.task, &self.op, &self.object) == (other.task, &other.op, &other.object)
            && (&self.file, self.line, self.column) == (&other.file, other.line, other.column)
            && (self.preempted, &self.note) == (other.preempted, &other.note)
    }

    /// The source line, if it is known.
    pub(crate) fn location(&self) -> Option<Location> {
        location(self.file.as_ref(), self.line, self.column)
    }

    /// The call into `atomic` code that the event is part of.
    pub(crate) fn atomic_call(&self) -> Option<&Caller> {
        self.caller.as_ref().filter(|it| it.is_atomic)
    }

    /// The source line to show. For a call into `atomic` code, and for work of the standard
    /// library, it is the line of the user's code.
    pub(crate) fn shown_location(&self) -> Option<Location> {
        shown_location(self.location(), self.caller.as_ref())
    }
}

fn shown_location(own: Option<Location>, caller: Option<&Caller>) -> Option<Location> {
    let is_std = |it: &Location| source_path(&it.file).starts_with("library/");
    match (own, caller) {
        (Some(own), Some(caller)) if !caller.is_atomic && !is_std(&own) => Some(own),
        (_, Some(caller)) => Some(caller.location.clone()),
        (own, None) => own,
    }
}

impl Blocked {
    /// The operation in which the task waits, as an event, although it has not happened.
    pub(crate) fn to_step(&self) -> Step {
        Step {
            task: self.task,
            op: self.op,
            object: self.object.clone(),
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            preempted: self.preempted,
            note: self.note,
            hold: None,
            gives: None,
            after: Vec::new(),
            call: self.call,
            caller: self.caller.clone(),
            effect: None,
            read: None,
            written: None,
        }
    }

    /// The source line to show, as for [`Step::shown_location`].
    pub(crate) fn shown_location(&self) -> Option<Location> {
        shown_location(self.location(), self.caller.as_ref())
    }

    /// The source line, if it is known.
    pub(crate) fn location(&self) -> Option<Location> {
        location(self.file.as_ref(), self.line, self.column)
    }
}

/// The location, if its file and its line are known.
pub(super) fn location(
    file: Option<&String>,
    line: Option<u32>,
    column: Option<u32>,
) -> Option<Location> {
    Some(Location {
        file: file?.clone(),
        line: line?,
        column: column.unwrap_or(1),
    })
}
