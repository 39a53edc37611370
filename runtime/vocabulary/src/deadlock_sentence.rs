//! The sentence on the waiting tasks of a deadlock, for messages. `report/deadlock.rs` of the tool has
//! the list of these tasks, for reports.

use core::fmt::Write as _;

use crate::{Op, TaskId};

/// A task that waits at the end of an execution.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The task.
    pub task: TaskId,
    /// The operation in which it waits.
    pub op: Op,
    /// The name of the object that the task waits for.
    pub object: Option<String>,
    /// The source line of the operation.
    pub place: Option<String>,
    /// The task that holds the object, or the task that is joined.
    pub holder: Option<TaskId>,
    /// The source line where the holder acquired the object.
    pub held_at: Option<String>,
}

/// A deadlock in one sentence: the tasks of the `cycle`, or all waiting tasks if `cycle` is empty.
pub fn deadlock(waits: &[Wait], cycle: &[TaskId]) -> String {
    let mut text = match cycle.len() {
        0 => "no task can continue: ".to_owned(),
        1 => "a task waits for itself: ".to_owned(),
        _ => "tasks wait for each other: ".to_owned(),
    };
    let in_cycle = |wait: &&Wait| cycle.is_empty() || cycle.contains(&wait.task);
    for (at, wait) in waits.iter().filter(in_cycle).enumerate() {
        let separator = if at == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{} waits in {}", wait.task, wait.op);
        // The object of a join is the joined task, which is also the holder.
        let joined = wait.holder.filter(|_| wait.op == Op::Join);
        if let Some(task) = joined {
            let _ = write!(text, " for {task}");
        } else if let Some(name) = &wait.object {
            let _ = write!(text, " for {name}");
        }
        if wait.op.is_opaque() {
            text.push_str(" in opaque code");
        }
        if let Some(place) = &wait.place {
            let where_to = if wait.op.is_opaque() { "after" } else { "at" };
            let _ = write!(text, " {where_to} {place}");
        }
        let Some(holder) = wait.holder.filter(|_| joined.is_none()) else {
            continue;
        };
        let _ = write!(text, ", held by {holder}");
        if let Some(place) = &wait.held_at {
            let _ = write!(text, " since {place}");
        }
    }
    text
}

/// A source line as sentences show it: the [`short_path`] of the file, and the line.
pub fn line_of(file: &str, line: u32) -> String {
    format!("{}:{line}", short_path(file))
}

/// The path of a source file. For a file in cargo's registry, the path begins with the package:
/// `a-1.0.0/lib.rs`.
pub fn short_path(file: &str) -> &str {
    let short = file
        .split_once("/registry/src/")
        .and_then(|(_, rest)| rest.split_once('/'));
    short.map_or(file, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(task: u32, object: &str, holder: Option<u32>) -> Wait {
        Wait {
            task: TaskId(task),
            op: Op::MutexLock,
            object: Some(object.to_owned()),
            place: Some(line_of(
                "/home/me/.cargo/registry/src/index-1/a-1.0.0/lib.rs",
                7,
            )),
            holder: holder.map(TaskId),
            held_at: holder.map(|_| line_of("src/lib.rs", 3)),
        }
    }

    #[test]
    fn a_cycle_is_printed_without_the_tasks_that_wait_for_it() {
        let waits = [
            wait(0, "M1", Some(1)),
            wait(1, "M1", Some(2)),
            wait(2, "M2", Some(1)),
        ];
        assert_eq!(
            deadlock(&waits, &[TaskId(1), TaskId(2)]),
            "tasks wait for each other: \
             task 1 waits in Mutex::lock for M1 at a-1.0.0/lib.rs:7, held by task 2 since src/lib.rs:3; \
             task 2 waits in Mutex::lock for M2 at a-1.0.0/lib.rs:7, held by task 1 since src/lib.rs:3"
        );
    }

    #[test]
    fn without_a_cycle_all_are_printed() {
        let join = Wait {
            op: Op::Join,
            object: Some("task 1".to_owned()),
            held_at: None,
            ..wait(0, "", Some(1))
        };
        let opaque = Wait {
            op: Op::FutexWait,
            ..wait(1, "F1", None)
        };
        assert_eq!(
            deadlock(&[join, opaque], &[]),
            "no task can continue: main waits in join for task 1 at a-1.0.0/lib.rs:7; \
             task 1 waits in futex wait for F1 in opaque code after a-1.0.0/lib.rs:7"
        );
    }
}
