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
    pub(super) file_calls: u64,
    /// The file calls that change a directory.
    pub(super) directory_changes: u64,
    /// It had a process of its own.
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
        has_process,
    } = counted;
    let process = if has_process { PER_PROCESS } else { 0 };
    let files = PER_FILE_CALL * file_calls + PER_DIRECTORY_CHANGE * directory_changes;
    PER_EXECUTION + PER_TASK * tasks + PER_STEP * steps + files + process
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
/// That of a call on a file, to find what it uses included. Measured with the tests of
/// `ignore`, which make some 250 calls on files in an execution of 4.5 ms.
const PER_FILE_CALL: u64 = 100;
/// What a call that changes a directory takes beside that: the file system writes it down.
const PER_DIRECTORY_CHANGE: u64 = 400;
/// That of forking a process.
const PER_PROCESS: u64 = 4_000;
/// How much is usually done in a millisecond.
pub(super) const PER_MS: u64 = 10_000;
