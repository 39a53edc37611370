//! The interface of monitors, and the data that the engine passes to them.

use core::ffi::c_int;
use core::ops::ControlFlow;

use super::failure::Failure;
use crate::base::memory::EngineVec;
use crate::execution::{Access, DataAccess, Ending, Execution, Panic, SyncAccess};
use crate::platform::heap::{Allocation, Free};

/// The outcome that the test's attributes require.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// The test returns without an error.
    Pass,
    /// The test panics (`should_panic`).
    Panic,
    /// The test panics with a message that contains this text.
    PanicWith(&'static str),
}

/// The end of the test's body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyOutcome {
    /// The body neither returned nor panicked in this execution.
    Unfinished,
    /// The body returned without an error.
    Passed,
    /// The body returned an error with this text.
    Failed(EngineVec<u8>),
    /// The body panicked with this message, or resumed another task's panic that had this message.
    Panicked(EngineVec<u8>),
}

/// An execution that has just ended.
pub(crate) struct End<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) body: &'a BodyOutcome,
    pub(crate) expectation: Expectation,
}

/// The end of a process during an execution.
pub(crate) struct Death<'a> {
    pub(crate) execution: &'a Execution,
    /// The wait status of the process.
    pub(crate) status: c_int,
    /// The address of the access that ended the process, if an access did.
    pub(crate) fault: Option<usize>,
    /// The address `fault` is in the guard of a task's stack.
    pub(crate) overflows: bool,
}

/// The interface of monitors. Each hook is optional. The running task is
/// `execution.schedule.current`. The event of the access for which a hook is called has the number
/// `execution.log.events.len()`.
///
/// If a hook returns [`ControlFlow::Break`], the execution ends before the program's next
/// operation. Then [`Monitor::end`] of this monitor must return the reason.
pub(crate) trait Monitor {
    /// Called at the start of an execution.
    #[inline]
    fn begin(&mut self) {}

    /// The current task is about to perform an operation: see its `op`, `object` and `site`. The
    /// search has not decided yet whether other tasks run first.
    #[inline]
    fn scheduling_point(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// Whether [`Monitor::sync_access`] must be called for every synchronization access of this
    /// execution. If no monitor needs this, [`Monitor::sync_access`] is called only for accesses
    /// whose object may be in freed memory.
    #[inline]
    fn wants_accesses(&self) -> bool {
        false
    }

    /// The current task performs an operation. No other task runs until the operation is complete.
    /// See [`Monitor::wants_accesses`].
    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        let _ = (execution, access);
        ControlFlow::Continue(())
    }

    /// The current task is about to access plain memory.
    #[inline]
    fn data_access(&mut self, execution: &Execution, access: DataAccess) -> ControlFlow<()> {
        let _ = (execution, access);
        ControlFlow::Continue(())
    }

    /// Whether [`Monitor::allocated`] and [`Monitor::frees`] must be called for all allocations and
    /// frees of this execution. If no monitor needs this, only [`Monitor::frees`] is called, and
    /// only for invalid frees. Called after [`Monitor::begin`].
    #[inline]
    fn watches_heap(&self) -> bool {
        false
    }

    /// The current task allocated a block of the heap.
    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        let _ = (execution, allocation);
    }

    /// The current task is about to free memory, correctly or not.
    #[inline]
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
        let _ = (execution, free);
        ControlFlow::Continue(())
    }

    /// The current task panicked.
    fn panicked(&mut self, panic: &Panic) {
        let _ = panic;
    }

    /// The current task repeats a loop that does not yield: since an earlier iteration, the task
    /// has only read objects, and these objects have not changed. `read` is one of these reads. If
    /// the loop `waits`, the task's state is exactly that of the earlier iteration. If not, the
    /// task has repeated the loop for so long that the loop counts as yielding.
    fn spins(&mut self, execution: &Execution, read: Access, waits: bool) -> ControlFlow<()> {
        let _ = (execution, read, waits);
        ControlFlow::Continue(())
    }

    /// The execution has run far beyond the step limit, and ends here. Returns the ending of the
    /// execution, if this monitor decides it.
    fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
        let _ = execution;
        None
    }

    /// The execution is over, and the program's memory is still in its final state.
    #[inline]
    fn ended(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// The execution has ended. Called in the process that explores. Returns a failure if the
    /// execution failed in the judgement of this monitor.
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let _ = end;
        None
    }

    /// The failure of the last execution will be reported. Returns whether this monitor needs one
    /// repetition of the execution, to find details for the message.
    fn wants_another_look(&mut self) -> bool {
        false
    }

    /// Completes the message and the place of `failure`, the reported failure of the last
    /// execution, with details that take long to find. May be called in another process, like
    /// [`Monitor::died`].
    fn explain(&self, failure: &mut Failure) {
        let _ = failure;
    }

    /// The execution ended because its process ended. Returns a failure if this monitor judges such
    /// an end. Called in another process, which shares only the engine's memory.
    fn died(&mut self, death: &Death<'_>) -> Option<Failure> {
        let _ = death;
        None
    }
}
