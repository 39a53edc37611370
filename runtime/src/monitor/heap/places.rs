//! The places in the program's source at which memory is allocated and freed.
//!
//! The allocator is called from the standard library's code, which does not know the line of its
//! caller. Therefore a schedule that has failed is repeated. In the repetition, the stack is
//! walked at the block's allocation and free. Their numbers are the same in both executions.

use crate::base::memory::engine_vec;
use crate::base::source_path::Place;
use crate::execution::{Execution, Site, TaskId, stack};

/// The task of an event of a block, and the place of the event.
#[derive(Clone, Debug)]
pub(super) struct BlockEvent {
    pub(super) task: TaskId,
    /// The innermost line of the program's own code, if the executable has debug information for
    /// it.
    pub(super) place: Option<Place>,
    /// The line of the task's newest operation.
    pub(super) after: Option<Site>,
}

impl BlockEvent {
    /// An event of the current task. Its place is not known yet: see [`find`].
    pub(super) fn here(execution: &Execution) -> Self {
        let task = execution.schedule.current;
        Self {
            task,
            place: None,
            after: execution.task(task).site,
        }
    }
}

/// Finds the place of the caller. `found` must be in the engine's memory.
#[cold]
pub(super) fn find(found: &mut BlockEvent) {
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
