//! Listeners: observers of a running execution, such as the live trace and the debugger.
//!
//! Unlike monitors, they judge nothing. They are called only for the few executions that are shown
//! to a person. So the calls may be slow, and the engine calls the listeners through a table. The
//! same holds for the work of libc at the start and the end of a task ([`ThreadWork`]).

use super::TaskId;
use super::event::Event;
use super::state::Execution;
use super::terms::Step;
use crate::base::memory::EngineVec;
use crate::base::source_path::Place;

/// One panic of one task.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub(crate) task: TaskId,
    pub(crate) message: EngineVec<u8>,
    pub(crate) place: Place,
    /// The number of events of the execution before the panic.
    pub(crate) event: u32,
}

impl Panic {
    /// Whether the message contains `text`.
    pub(crate) fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.message).contains(text)
    }
}

/// An observer of an execution. Each hook is optional.
pub(crate) trait Listener: Sync {
    /// The current task performs an operation.
    fn event(&self, execution: &Execution, event: &Event) {
        let _ = (execution, event);
    }

    /// The current task is preempted before its operation.
    fn preemption(&self, execution: &Execution) {
        let _ = execution;
    }

    /// The next operation of the current task takes effect before the store of the event
    /// `overtaken`.
    fn late_effect(&self, execution: &Execution, overtaken: u32) {
        let _ = (execution, overtaken);
    }

    /// The current task is about to be switched out for `next`.
    fn switches(&self, execution: &Execution, next: TaskId) {
        let _ = (execution, next);
    }

    /// The execution ends, by itself or earlier.
    fn execution_ends(&self, execution: &Execution) {
        let _ = execution;
    }

    /// The current task panics.
    fn panics(&self, execution: &Execution, panic: &Panic) {
        let _ = (execution, panic);
    }

    /// The current task accessed memory that it may not access, at `address`.
    fn faults(&self, execution: &Execution, address: usize) {
        let _ = (execution, address);
    }
}

/// The work of libc for its threads, which tasks need as well.
pub(crate) trait ThreadWork: Sync {
    /// The current task continues on a kernel thread of its own, after other tasks have run.
    fn continues(&self);

    /// The current task ends, and still runs on its own stack.
    fn ends(&self);
}

/// No work of libc.
pub(crate) struct NoWork;

impl ThreadWork for NoWork {
    fn continues(&self) {}

    fn ends(&self) {}
}

/// All listeners.
pub(crate) type Listeners = &'static [&'static dyn Listener];

impl Execution {
    /// Reports the operation `event` of the current task to the listeners. Called only if the
    /// events of the execution are reported.
    #[cold]
    pub(super) fn report_event(&self, event: &Event) {
        for listener in self.listeners {
            listener.event(self, event);
        }
    }

    /// Reports to the listeners that the current task is preempted. Called only if the events of
    /// the execution are reported.
    #[cold]
    pub(super) fn report_preemption(&self) {
        for listener in self.listeners {
            listener.preemption(self);
        }
    }

    /// Reports to the listeners that the next operation of the current task takes effect before the
    /// store of the event `overtaken`.
    #[cold]
    pub(super) fn report_late_effect(&self, overtaken: u32) {
        for listener in self.listeners {
            listener.late_effect(self, overtaken);
        }
    }

    /// Reports to the listeners that the current task gives way to `next`. Called only if each task
    /// runs on a kernel thread of its own.
    #[cold]
    pub(super) fn report_switch(&self, next: TaskId) {
        for listener in self.listeners {
            listener.switches(self, next);
        }
    }

    /// Reports to the listeners that the current task gives way to another task after its end, or
    /// that the execution ends. `step` states which. Called only if each task runs on a kernel
    /// thread of its own.
    #[cold]
    pub(super) fn report_task_end(&self, step: Step) {
        match step {
            Step::Switch(next) => self.report_switch(next),
            Step::Continue | Step::Spin | Step::End => self.report_end(),
        }
    }

    /// Reports the end of the execution to the listeners. Called only if each task runs on a kernel
    /// thread of its own.
    #[cold]
    pub(super) fn report_end(&self) {
        for listener in self.listeners {
            listener.execution_ends(self);
        }
    }
}
