//! The unit of work of a search, which is the same on every machine.
//!
//! A time budget explores less on a slow machine, and a budget of schedules takes a hundred times
//! as long if executions are long. So work is a sum of numbers that an execution counts anyway,
//! weighted by their typical durations. It depends only on the schedules that were run.

use crate::execution::Execution;

/// The counts of one execution.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Counts {
    pub(super) steps: u64,
    pub(super) tasks: u64,
    /// The candidates of all scheduling points at which the engine made a list of them.
    candidates: u64,
    /// The system calls on sockets, pipes and other descriptors.
    calls: u64,
    file_calls: u64,
    /// The file calls that change a directory.
    directory_changes: u64,
    /// The processes that the tasks started.
    processes: u64,
}

impl Counts {
    /// The counts of `execution`, which has ended.
    pub(super) fn of(execution: &Execution) -> Self {
        Self {
            steps: execution.budget.steps,
            tasks: execution.schedule.live as u64,
            candidates: execution.budget.candidates,
            calls: execution.descriptors.calls.into(),
            file_calls: execution.files.calls.into(),
            directory_changes: execution.files.directory_changes.into(),
            processes: execution.descriptors.processes.into(),
        }
    }
}

/// The work that cannot be counted in an execution. It is the same in all executions of a test.
#[derive(Clone, Copy)]
pub(super) struct Usual {
    /// The work of the program's code between two steps: the result of [`between_steps`].
    pub(super) between: u64,
    /// The work of each process that the tasks start: the result of [`per_child`].
    pub(super) per_child: u64,
    /// Whether each execution has its own process.
    pub(super) has_process: bool,
}

/// The work of an execution with these counts.
#[inline]
pub(super) fn of(counts: Counts, usual: Usual) -> u64 {
    let process = if usual.has_process { PER_PROCESS } else { 0 };
    let children = usual.per_child * counts.processes;
    let files = PER_FILE_CALL * counts.file_calls + PER_DIRECTORY_CHANGE * counts.directory_changes;
    let code = PER_STEP * counts.steps + usual.between * counts.steps / BETWEEN_PARTS;
    let choices = counts.candidates / CANDIDATES_PER_UNIT;
    let calls = PER_CALL * counts.calls;
    let tasks = PER_TASK * counts.tasks;
    PER_EXECUTION + tasks + code + choices + calls + files + children + process
}

/// The usual work of the program's code between two steps, in parts of a unit. A unit has
/// [`BETWEEN_PARTS`] parts. An execution of `steps` steps had this number of `accesses` to plain
/// memory. The result is a power of two, or 0: the number of accesses depends slightly on the
/// machine, for example on the length of paths, and the budgets of searches must not.
pub(super) fn between_steps(accesses: u64, steps: u64) -> u64 {
    let parts = accesses * BETWEEN_PARTS / (ACCESSES_PER_UNIT * steps.max(1));
    // A number of more than 3/4 and at most 3/2 of a power of two is rounded to this power. Fewer
    // than two parts are no work.
    let power = (parts * 2).div_ceil(3).next_power_of_two();
    if power == 1 { 0 } else { power }
}

/// The usual work of a child process, if an execution waited for the outside for `waited`
/// nanoseconds and had this number of child `processes`. If the mean wait for a child is shorter
/// than 32 ms, the result is [`PER_CHILD`]. Otherwise, the mean is rounded to 64, 256, 1024 or 4096
/// ms, and the result is the work of this time. The time depends on the machine, and the budgets of
/// searches should not. Children faster than 32 ms need no finer classes: the default budget of
/// work ends before the default time limit.
pub(super) fn per_child(waited: u64, processes: u64) -> u64 {
    let ms = waited / 1_000_000 / processes.max(1);
    let (mut class, mut limit) = (PER_CHILD, 32);
    while ms >= limit && limit < 8192 {
        class = limit * 2 * PER_MS;
        limit *= 4;
    }
    class
}

// A unit should be about 100 ns. Measured in processor time, in unoptimised builds on a busy
// machine, it was 29 to 38 ns in long runs of atomic operations, 55 to 90 ns in short ones and with
// locks, 80 to 180 ns in tests of tokio, async-std, smol and r2d2 and with large messages, and 34
// ns in loops over local arrays. Restored pages are not counted.

/// The work of an execution without steps: restoring memory.
pub(super) const PER_EXECUTION: u64 = 10;
const PER_TASK: u64 = 2;
const PER_STEP: u64 = 2;
/// The candidates that take one unit. Measured with 100 to 1,000 tasks that wait for one lock: 10
/// to 15 ns for each candidate.
const CANDIDATES_PER_UNIT: u64 = 8;
/// The number of parts of a unit in a result of [`between_steps`].
const BETWEEN_PARTS: u64 = 16;
/// The accesses to plain memory, most of them to the task's own stack, that take one unit.
const ACCESSES_PER_UNIT: u64 = 8;
/// The work of a system call on a descriptor. Measured with TCP between tasks: 6 to 12 us.
const PER_CALL: u64 = 60;
/// The work of a call on a file, including the search for the objects that it uses. Measured
/// with the tests of `ignore`, which make some 250 such calls in an execution of 4.5 ms.
const PER_FILE_CALL: u64 = 100;
/// The further work of a call that changes a directory.
const PER_DIRECTORY_CHANGE: u64 = 400;
/// The work of starting another program, and of its end. Measured with the tests of `shared_child`.
pub(super) const PER_CHILD: u64 = 10_000;
/// The work of forking a process.
const PER_PROCESS: u64 = 4_000;
/// The usual work in one millisecond.
pub(super) const PER_MS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_child_is_rounded() {
        let per_child = |ms: u64| per_child(ms * 3_000_000, 3) / PER_MS;
        assert_eq!([0, 31].map(per_child), [1, 1]);
        assert_eq!([32, 127, 128, 511].map(per_child), [64, 64, 256, 256]);
        assert_eq!([512, 100_000].map(per_child), [1024, 4096]);
        assert_eq!(super::per_child(5_000_000, 0), PER_CHILD);
    }

    #[test]
    fn slightly_different_numbers_of_accesses_are_the_same_work() {
        let per_step = |accesses| between_steps(accesses * ACCESSES_PER_UNIT, 100);
        assert_eq!(per_step(0), 0);
        assert_eq!(per_step(1), 0);
        assert_eq!(per_step(100), BETWEEN_PARTS);
        assert_eq!(per_step(82), BETWEEN_PARTS);
        assert_eq!(per_step(140), BETWEEN_PARTS);
        assert_eq!(per_step(170), 2 * BETWEEN_PARTS);
        assert_eq!(between_steps(ACCESSES_PER_UNIT, 0), BETWEEN_PARTS);
    }
}
