//! The unit of work of a search, which is the same on every machine.
//!
//! A time budget explores less on a slow machine, and a budget of schedules takes a hundred times
//! as long if executions are long. So work is a sum of numbers that an execution counts anyway,
//! weighted by their typical durations. It depends only on the schedules that were run.

use crate::execution::Execution;

/// The counts of one execution.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) steps: u64,
    pub(super) tasks: u64,
    pub(super) file_calls: u64,
    /// The file calls that change a directory.
    pub(super) directory_changes: u64,
    /// The processes that the tasks started.
    pub(super) processes: u64,
    /// Whether the execution had its own process.
    pub(super) has_process: bool,
}

/// The work of one execution.
#[inline]
pub(super) fn of(counted: Counted) -> u64 {
    let Counted {
        steps,
        tasks,
        file_calls,
        directory_changes,
        processes,
        has_process,
    } = counted;
    let process = if has_process { PER_PROCESS } else { 0 };
    let children = PER_CHILD * processes;
    let files = PER_FILE_CALL * file_calls + PER_DIRECTORY_CHANGE * directory_changes;
    PER_EXECUTION + PER_TASK * tasks + PER_STEP * steps + files + children + process
}

/// The work of `execution`, which has ended.
pub(super) fn of_execution(execution: &Execution) -> u64 {
    of(Counted {
        steps: execution.budget.steps,
        tasks: execution.schedule.live as u64,
        file_calls: execution.files.calls.into(),
        directory_changes: execution.files.directory_changes.into(),
        processes: execution.descriptors.processes.into(),
        has_process: execution.options.has_processes,
    })
}

// A unit should be about 100 ns. Measured in processor time, on a busy machine and with 8,000
// schedules each, it was 29 to 38 ns in long runs of atomic operations, 55 to 90 ns in short ones
// and with locks, 104 ns in the pool of r2d2, and 122 to 182 ns with channels whose messages
// allocate. Allocations, restored pages and accesses to plain memory are not counted.

/// The work of an execution without steps: restoring memory.
pub(super) const PER_EXECUTION: u64 = 10;
const PER_TASK: u64 = 2;
const PER_STEP: u64 = 2;
/// The work of a call on a file, including the search for the objects that it uses. Measured
/// with the tests of `ignore`, which make some 250 such calls in an execution of 4.5 ms.
const PER_FILE_CALL: u64 = 100;
/// The further work of a call that changes a directory.
const PER_DIRECTORY_CHANGE: u64 = 400;
/// The work of starting another program, and of its end. Measured with the tests of `shared_child`.
const PER_CHILD: u64 = 10_000;
/// The work of forking a process.
const PER_PROCESS: u64 = 4_000;
/// The usual work in one millisecond.
pub(super) const PER_MS: u64 = 10_000;
