//! The unit in which the work of a search is counted: the same on every machine.
//!
//! A budget of time explores less on a slow machine, and a budget of schedules takes a
//! hundred times as long where executions are long. So work is the sum of what an execution
//! counts anyway, each with the weight of the time that it takes. It depends on nothing but
//! the schedules that were run.

/// What is counted of one execution.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) steps: u64,
    pub(super) events: u64,
    pub(super) tasks: u64,
}

/// The work of one execution.
#[inline]
pub(super) fn of(counted: Counted) -> u64 {
    let Counted {
        steps,
        events,
        tasks,
    } = counted;
    PER_EXECUTION + PER_TASK * tasks + PER_STEP * steps + PER_EVENT * events
}

/// That of putting memory back as it was.
pub(super) const PER_EXECUTION: u64 = 20;
const PER_TASK: u64 = 5;
const PER_STEP: u64 = 1;
const PER_EVENT: u64 = 1;
