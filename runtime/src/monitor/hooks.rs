//! The interface of monitors, and the data that it passes.

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
    /// The test panics with a message that contains this.
    PanicWith(&'static str),
}

/// The end of the test's body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyOutcome {
    /// It did not return in this execution.
    Unfinished,
    /// It returned without an error.
    Passed,
    /// It returned an error with this text.
    Failed(EngineVec<u8>),
    /// It panicked, or resumed a panic of another task, with this message.
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
    /// The address of the access that caused its death.
    pub(crate) fault: Option<usize>,
    /// The address is in the guard of a task's stack.
    pub(crate) overflows: bool,
}

/// The interface of monitors. Each hook is optional. The running task is `execution.schedule.current`; the
/// number of an access is that of its event, `execution.log.events.len()`.
///
/// A hook that returns [`ControlFlow::Break`] ends the execution there, before the program's next
/// operation; [`Monitor::end`] then returns the reason. Other monitors end the execution without a
/// verdict of their own or let it continue.
pub(crate) trait Monitor {
    /// Called at the start of an execution.
    #[inline]
    fn begin(&mut self) {}

    /// The current task arrives before an operation, which its `op`, `object` and `site` describe.
    /// Whether other tasks run first is not decided yet.
    #[inline]
    fn scheduling_point(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// Whether the monitor watches every synchronization access in this execution. Otherwise it is
    /// called only for those whose object may be free.
    #[inline]
    fn wants_accesses(&self) -> bool {
        false
    }

    /// The current task performs an operation; no other task runs until it is complete. See
    /// [`Monitor::wants_accesses`].
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

    /// Whether [`Monitor::allocated`] is to be called in this execution, which has begun, and
    /// [`Monitor::frees`] for correct frees.
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

    /// The current task, which has not yielded, is in exactly the state of an earlier iteration,
    /// and since then it has only read objects that have not changed: `read`, and maybe more.
    fn spins(&mut self, execution: &Execution, read: Access) -> ControlFlow<()> {
        let _ = (execution, read);
        ControlFlow::Continue(())
    }

    /// The execution has run far beyond the step limit, and is given up. Returns its ending.
    fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
        let _ = execution;
        None
    }

    /// The execution is over, and the program's memory is still in its final state.
    #[inline]
    fn ended(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// The execution ended; called in the process that explores. Returns a failure if it failed.
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let _ = end;
        None
    }

    /// The execution for which this monitor reported a failure will be reported. Returns whether to
    /// repeat it once, so that the monitor can find the details of its message.
    fn wants_another_look(&mut self) -> bool {
        false
    }

    /// Adds the words and the place that take long to find to `failure`, the reported failure of
    /// the last execution. May be called in another process, as `died`.
    fn explain(&self, failure: &mut Failure) {
        let _ = failure;
    }

    /// The execution ended with its process. Returns a failure if that is one of this monitor. It
    /// is called in another process, which shares only the engine's memory.
    fn died(&mut self, death: &Death<'_>) -> Option<Failure> {
        let _ = death;
        None
    }
}
