//! The places in the program's source at which memory is allocated and freed.
//!
//! The allocator is called from the standard library's code, which does not know the line of its
//! caller. Therefore a schedule that has failed is repeated. In the repetition, the stack is walked
//! when the block is allocated and when it is freed. The block is recognized by the number of its
//! allocation, which is the same in both executions.

use crate::base::source_path::Place;
use crate::execution::{Execution, Site, TaskId, stack};

/// The task of an event of a block, and the place of the event.
#[derive(Clone, Debug)]
pub(super) struct BlockEvent {
    pub(super) task: TaskId,
    /// The innermost line of the program's own code, if the executable has debug information for
    /// it.
    pub(super) place: Option<Place>,
    /// The line of the task's newest operation before the event.
    pub(super) after: Option<Site>,
}

impl BlockEvent {
    /// An event that happens now in the current task. Its place is not known until [`find`] is
    /// called.
    pub(super) fn here(execution: &Execution) -> Self {
        let task = execution.schedule.current;
        Self {
            task,
            place: None,
            after: execution.task(task).site,
        }
    }
}

/// Walks the stack of the caller, and sets the place of the event `found`, which must be in the
/// engine's memory.
#[cold]
pub(super) fn find(found: &mut BlockEvent) {
    stack::find_own_place(&mut found.place);
}
