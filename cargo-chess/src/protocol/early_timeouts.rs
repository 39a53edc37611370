//! Waits that ended while another task could run, as a test binary reports them.

use chess_vocabulary::Op;
use serde::{Deserialize, Serialize};

use super::token;
use crate::events::{EarlyOperation, EarlyTimeout, Location};
use crate::text::source_path;

/// An operation of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Operation {
    /// The task.
    pub task: u32,
    /// The operation.
    #[serde(with = "token")]
    pub op: Op,
    /// The source file of the operation, if it is known.
    #[serde(default)]
    pub file: Option<String>,
    /// The line in the source file.
    #[serde(default)]
    pub line: Option<u32>,
    /// The column in the source file.
    #[serde(default)]
    pub column: Option<u32>,
    /// Whether the operation is a wait with a timeout, too. If no timeout were early, this wait
    /// would end first.
    #[serde(default)]
    pub waits: bool,
}

impl Operation {
    fn to_event(&self) -> EarlyOperation {
        let file = self.file.as_ref().zip(self.line);
        EarlyOperation {
            task: self.task,
            operation: self.op.name().to_owned(),
            location: file.map(|(file, line)| Location {
                file: source_path(file),
                line,
                column: self.column.unwrap_or(0),
            }),
            waits: self.waits,
            begins: self.op == Op::Start,
        }
    }
}

/// A wait or sleep that ended early.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct EarlyWait {
    /// The wait.
    #[serde(flatten)]
    pub wait: Operation,
    /// The longest duration of the wait, in nanoseconds.
    pub length_ns: u64,
    /// The next operation of the task that would have run if the wait had not ended early.
    pub before: Operation,
}

impl EarlyWait {
    /// The wait in the form of events.
    pub(crate) fn to_event(&self) -> EarlyTimeout {
        EarlyTimeout {
            wait: self.wait.to_event(),
            length_ns: self.length_ns,
            before: self.before.to_event(),
        }
    }
}
