//! The unit in which the work of a search is counted: the same on every machine.
//!
//! A budget of time explores less on a slow machine, and one of schedules takes a
//! hundred times as long where executions are long. So work is a sum of what an execution
//! counts anyway, weighted by how long it takes. It depends on nothing but the schedules
//! that were run.

/// What is counted of one execution.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) steps: u64,
    pub(super) tasks: u64,
    /// It had a process of its own.
    pub(super) has_process: bool,
}

/// The work of one execution.
#[inline]
pub(super) fn of(counted: Counted) -> u64 {
    let Counted {
        steps,
        tasks,
        has_process,
    } = counted;
    let process = if has_process { PER_PROCESS } else { 0 };
    PER_EXECUTION + PER_TASK * tasks + PER_STEP * steps + process
}

// A unit is meant to be some 100 ns. Measured in processor time, on a busy machine and with
// 8,000 schedules each, it was 29 to 38 ns in long runs of atomic operations, 55 to 90 ns in
// short ones and with locks, 104 ns in the pool of r2d2, and 122 to 182 ns with channels whose
// messages allocate. Allocations, pages that are put back and accesses to plain memory are not
// counted.

/// That of an execution without steps: putting memory back as it was.
pub(super) const PER_EXECUTION: u64 = 10;
const PER_TASK: u64 = 2;
const PER_STEP: u64 = 2;
/// That of forking a process.
const PER_PROCESS: u64 = 4_000;
/// How much is usually done in a millisecond.
pub(super) const PER_MS: u64 = 10_000;
