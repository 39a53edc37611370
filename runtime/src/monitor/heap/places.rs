//! The places in the program's source at which memory is allocated and freed.
//!
//! The allocator is called from the standard library's code, which knows no caller's
//! line. So once a schedule has failed it is run again, and where the numbers of the
//! block's allocation and free come up the stack is walked.

use super::super::Place;
use crate::base::memory::engine_vec;
use crate::execution::{Execution, Site, TaskId, stack};

/// Who did something to a block, and where.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) task: TaskId,
    /// The innermost line of the program's own, if the executable tells lines.
    pub(super) place: Option<Place>,
    /// The line of the task's newest operation.
    pub(super) after: Option<Site>,
}

impl Found {
    /// The current task, at a place that is not known yet.
    pub(super) fn here(execution: &Execution) -> Self {
        let task = execution.current;
        Self {
            task,
            place: None,
            after: execution.task(task).site,
        }
    }
}

/// Finds the place where the caller is, for a [`Found`] that lies in the engine's memory.
#[cold]
pub(super) fn find(found: &mut Found) {
    stack::in_a_copy(|| {
        let frames = stack::frames();
        let frame = stack::innermost(&frames).map(|number| &frames[number]);
        let place = frame.and_then(stack::Frame::own_place);
        found.place = place.map(|(file, line)| {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(file.as_bytes());
            Place {
                file: bytes,
                line,
                column: 1,
            }
        });
    });
}
