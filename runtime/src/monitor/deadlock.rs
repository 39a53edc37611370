//! Deadlocks: the blocked tasks, the holders of the objects that they need, and the cycle.

use chess_vocabulary::Kind;

use super::{BodyOutcome, End, Failure, Monitor};
use crate::execution::{Ending, Execution, ObjectId, Op, Site, State, TaskId, Wait};

/// Judges executions that end because all tasks are blocked, or before the test's body has returned
/// or panicked.
pub(crate) struct Deadlock;

impl Deadlock {
    pub(super) const fn new() -> Self {
        Self
    }
}

impl Monitor for Deadlock {
    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let is_stuck = match end.execution.ending {
            Ending::Deadlock => true,
            Ending::Finished | Ending::NoDonor(_) | Ending::Unclean | Ending::NeedsProcess(_) => {
                *end.body == BodyOutcome::Unfinished
            }
            _ => false,
        };
        // The message names tasks and lines. These are found when the failure is reported.
        is_stuck.then(|| Failure::new(Kind::Deadlock, ""))
    }
}

/// A blocked task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocked {
    pub(crate) task: TaskId,
    pub(crate) op: Op,
    pub(crate) object: ObjectId,
    /// The line at which the task waits, or its last known line if it waits in code without lines.
    pub(crate) site: Option<Site>,
    /// The task was preempted, and has not run since.
    pub(crate) preempted: bool,
    /// The task that holds the object for which `task` waits, or the task that `task` joins.
    pub(crate) holder: Option<TaskId>,
    /// The line at which the holder acquired the object.
    pub(crate) held_at: Option<Site>,
}

/// The blocked tasks in the current state of the execution, except tasks with a timeout and tasks
/// that wait for no operation of another task (such as those that compute endlessly).
pub(crate) fn blocked_tasks(execution: &Execution) -> Vec<Blocked> {
    let mut blocked = Vec::new();
    for id in (0..execution.schedule.live as u32).map(TaskId) {
        let task = execution.task(id);
        let State::Blocked(wait) = task.state else {
            continue;
        };
        if task.deadline.is_some()
            || matches!(wait, Wait::Computation | Wait::Nothing | Wait::Assumption)
        {
            continue;
        }
        let (op, site, object) = (task.op, task.site, task.object);
        let preempted = task.preempted;
        let (holder, held_at) = match wait {
            Wait::Task(other) => (Some(other), None),
            Wait::Lock(..) | Wait::Object(_) | Wait::Futex(..) if object != ObjectId::NONE => {
                let held = execution.objects.get(object);
                // A task that upgrades its lock waits for the other readers. The engine does not
                // record which tasks they are.
                let upgrades = op == Op::RwLockUpgrade;
                let holder = held.owner.filter(|&owner| !(upgrades && owner == id));
                let is_held = holder.is_some() || held.shared > 0;
                (holder, held.held_at.filter(|_| is_held))
            }
            _ => (None, None),
        };
        blocked.push(Blocked {
            task: id,
            op,
            object,
            site,
            preempted,
            holder,
            held_at,
        });
    }
    blocked
}

/// The tasks of a cycle in which each task waits for an object that the next task holds. Empty if
/// there is no such cycle.
pub(crate) fn cycle(blocked: &[Blocked]) -> Vec<TaskId> {
    let next = |task: TaskId| {
        blocked
            .iter()
            .find(|b| b.task == task)
            .and_then(|b| b.holder)
    };
    for start in blocked {
        let mut path = vec![start.task];
        let mut at = start.task;
        while let Some(holder) = next(at) {
            if let Some(first) = path.iter().position(|&t| t == holder) {
                if first == 0 {
                    return path;
                }
                break;
            }
            path.push(holder);
            at = holder;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(task: u32, holder: Option<u32>) -> Blocked {
        Blocked {
            task: TaskId(task),
            op: Op::MutexLock,
            object: ObjectId(0),
            site: None,
            preempted: false,
            holder: holder.map(TaskId),
            held_at: None,
        }
    }

    #[test]
    fn a_cycle_is_found_from_tasks_that_wait_for_it() {
        let blocked = [
            waits(0, Some(2)),
            waits(1, Some(2)),
            waits(2, Some(3)),
            waits(3, Some(1)),
        ];
        let tasks: Vec<u32> = cycle(&blocked).iter().map(|t| t.0).collect();
        assert_eq!(tasks, [1, 2, 3]);
    }

    #[test]
    fn a_task_that_waits_for_itself_is_a_cycle() {
        assert_eq!(cycle(&[waits(0, Some(0))]), [TaskId(0)]);
        assert!(cycle(&[waits(0, Some(1)), waits(1, None)]).is_empty());
    }
}
