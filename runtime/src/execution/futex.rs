//! Futexes of opaque code: waits, wakes and requeues.

use super::running::{running, with};
use super::state::Execution;
use super::task::{State, Wait};
use super::terms::Wake;
use super::{Effect, Op, TaskId};

/// Waits at the futex at `address`. The caller has found the expected value in the futex word.
/// Returns whether the wait timed out.
pub(crate) fn wait(address: usize, bits: u32, deadline: Option<u64>) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    execution.step(|it| {
        let object = it.object(address);
        it.record(Op::FutexWait, object, Effect::Write, None);
        it.sleep_on(Wait::Futex(address, bits), deadline)
    });
    execution.with(|it| {
        let object = it.object(address);
        it.record(Op::FutexWaitEnd, object, Effect::Write, None);
        it.running().wake == Wake::TimedOut
    })
}

/// Wakes up to `count` tasks that wait at the futex at `address` and have a bit of `bits` in their
/// masks. As in the kernel, the task that has waited longest is woken first. Returns the number of
/// woken tasks.
pub(crate) fn wake(address: usize, bits: u32, count: usize) -> usize {
    let mut woken = 0;
    with(|it| {
        while woken < count
            && let Some(task) = it.first_futex_waiter(address, bits)
        {
            it.wake(task, Wake::Notified);
            woken += 1;
        }
    });
    woken
}

/// Moves up to `count` tasks that wait at the futex at `from` to the futex at `to`, after the tasks
/// that already wait at `to`. Returns the number of moved tasks.
pub(crate) fn requeue(from: usize, to: usize, count: usize) -> usize {
    let mut moved = 0;
    with(|it| {
        let object = it.object(to);
        while from != to
            && moved < count
            && let Some(task) = it.first_futex_waiter(from, u32::MAX)
        {
            it.schedule.waits += 1;
            let place = it.schedule.waits;
            let task = it.task_mut(task);
            if let State::Blocked(Wait::Futex(address, _)) = &mut task.state {
                *address = to;
            }
            task.queue = place;
            task.object = object;
            moved += 1;
        }
    });
    moved
}

impl Execution {
    fn first_futex_waiter(&self, address: usize, bits: u32) -> Option<TaskId> {
        self.live_tasks()
            .filter(|(_, task)| {
                matches!(task.state, State::Blocked(Wait::Futex(at, mask))
                    if at == address && mask & bits != 0)
            })
            .min_by_key(|(_, task)| task.queue)
            .map(|(id, _)| id)
    }
}
