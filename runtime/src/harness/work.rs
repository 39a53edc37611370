//! The unit of work of a search, which is the same on every machine.
//!
//! A time budget explores less on a slow machine, and a budget of schedules takes a hundred times
//! as long if executions are long. So work is a sum of numbers that an execution counts anyway,
//! weighted by their typical durations. It depends only on the schedules that were run.

/// The counts of one execution.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) steps: u64,
    pub(super) tasks: u64,
    /// It had its own process.
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

// A unit should be about 100 ns. Measured in processor time, on a busy machine and with 8,000
// schedules each, it was 29 to 38 ns in long runs of atomic operations, 55 to 90 ns in short ones
// and with locks, 104 ns in the pool of r2d2, and 122 to 182 ns with channels whose messages
// allocate. Allocations, restored pages and accesses to plain memory are not counted.

/// The work of an execution without steps: restoring memory.
pub(super) const PER_EXECUTION: u64 = 10;
const PER_TASK: u64 = 2;
const PER_STEP: u64 = 2;
/// The work of forking a process.
const PER_PROCESS: u64 = 4_000;
/// The usual work in one millisecond.
pub(super) const PER_MS: u64 = 10_000;
