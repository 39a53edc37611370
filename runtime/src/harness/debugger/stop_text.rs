//! The text that a debugger shows at a stop.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::line_of;
use crate::base::source_path::line_of_place;
use crate::execution::Panic;
use crate::execution::{Ending, Execution, Op, State, TaskId, Wait};
use crate::harness::names::ObjectNames;

/// Writes the name of a task, as in reports, without allocations in the program's memory.
pub(super) fn write_name(execution: &Execution, task: TaskId, out: &mut EngineVec<u8>) {
    let own = &execution.task(task).name;
    let others = || execution.live_tasks().filter(|(id, _)| *id != task);
    let written = match task {
        TaskId(0) => out.write_all(b"main"),
        TaskId(number) if own.is_empty() => write!(out, "task {number}"),
        TaskId(number) => {
            let is_unique = others().all(|(_, other)| other.name != *own);
            let named = out.write_all(own);
            if is_unique {
                named
            } else {
                named.and_then(|()| write!(out, "#{number}"))
            }
        }
    };
    debug_assert!(written.is_ok(), "writing to memory succeeds");
}

fn name(execution: &Execution, task: TaskId) -> String {
    let mut name = engine_vec();
    write_name(execution, task, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}

/// The text for a switch from the current task to `next`. `costs` states whether the switch has
/// the cost of a preemption: it is a preemption, or it follows an early timeout.
pub(super) fn switch(execution: &Execution, next: TaskId, costs: bool) -> String {
    let current = execution.schedule.current;
    let task = execution.task(current);
    let before = operation(execution, current);
    let what = match task.state {
        State::Finished => "has ended".to_owned(),
        State::Blocked(Wait::Computation) => format!("computes after {before}"),
        State::Blocked(_) => format!("waits in {before}"),
        State::Runnable if costs && task.preempted => format!("is preempted before {before}"),
        State::Runnable => format!("gives way before {before}"),
    };
    let early = if costs && !task.preempted {
        " after an early timeout"
    } else {
        ""
    };
    let (current, next) = (name(execution, current), name(execution, next));
    format!("{current} {what}; {next} continues{early}")
}

/// The text for a late effect of the current task's next operation.
pub(super) fn late_effect(execution: &Execution, overtaken: u32) -> String {
    let current = execution.schedule.current;
    let (task, next) = (name(execution, current), operation(execution, current));
    let newer = execution.log.events.get(overtaken as usize);
    let newer = newer.map_or_else(
        || "a newer store".to_owned(),
        |event| {
            let place = event
                .site
                .map_or_else(String::new, |site| format!(" at {}", line_of(site)));
            format!(
                "the {} of {}{place}",
                event.op.name(),
                name(execution, event.task)
            )
        },
    );
    format!("{task}: {next} takes effect before {newer}")
}

/// The text for a failure that ends the execution.
pub(super) fn end(execution: &Execution) -> String {
    match execution.ending {
        Ending::Spin(task) => format!("{} spins", name(execution, task)),
        Ending::Stopped => {
            let task = name(execution, execution.schedule.current);
            let last = operation(execution, execution.schedule.current);
            format!("a failure ends the execution: {task}, {last}")
        }
        ending => end_of_all(ending).to_owned(),
    }
}

/// The text for an end that concerns all tasks.
fn end_of_all(ending: Ending) -> &'static str {
    match ending {
        Ending::Assumption => "an assumption of the test does not hold: there is no verdict",
        Ending::Deadlock => "no task can continue: a deadlock",
        Ending::Livelock => "the execution does not end: a livelock",
        Ending::TooLong => "the execution is abandoned: it is too long",
        _ => "the execution ends",
    }
}

/// The text for a panic.
pub(super) fn panic(execution: &Execution, panic: &Panic) -> String {
    let message = String::from_utf8_lossy(&panic.message);
    let (name, place) = (name(execution, panic.task), line_of_place(&panic.place));
    format!("{name} panics at {place}: {message}")
}

/// The text for an invalid memory access.
pub(super) fn fault(execution: &Execution, address: usize) -> String {
    let name = name(execution, execution.schedule.current);
    format!("{name} crashes: invalid memory access at {address:#x}")
}

/// A line for each task, with its state and its place.
pub(super) fn tasks(execution: &Execution) -> String {
    let mut text = String::new();
    let names = || execution.live_tasks().map(|(id, _)| name(execution, id));
    let width = names().map(|name| name.chars().count()).max().unwrap_or(0);
    for ((id, task), name) in execution.live_tasks().zip(names()) {
        let mark = if id == execution.schedule.current {
            '*'
        } else {
            ' '
        };
        let before = operation(execution, id);
        let does = match task.state {
            State::Finished => "has ended".to_owned(),
            State::Blocked(Wait::Computation) => format!("computes after {before}"),
            State::Blocked(_) => format!("waits in {before}"),
            State::Runnable if task.preempted => format!("preempted before {before}"),
            State::Runnable => format!("before {before}"),
        };
        let _ = writeln!(text, "{mark} {name:width$}  {does}");
    }
    text
}

/// The operation that a task performs next, or waits in, such as
/// `Mutex::lock M1 at src/lib.rs:23`.
fn operation(execution: &Execution, id: TaskId) -> String {
    let task = execution.task(id);
    let mut text = task.op.name().to_owned();
    let names = ObjectNames::of(execution);
    let object = names.name(task.object);
    let is_shown = !matches!(task.op, Op::Start | Op::Exit | Op::ScopeEnd);
    if let Some(object) = object.filter(|_| is_shown) {
        let _ = write!(text, " {object}");
    }
    if let Some(site) = task.site.filter(|_| !task.op.is_opaque()) {
        let _ = write!(text, " at {}", line_of(site));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_words_of_its_own() {
        assert!(end_of_all(Ending::Deadlock).ends_with("a deadlock"));
        assert!(end_of_all(Ending::Livelock).ends_with("a livelock"));
        assert!(end_of_all(Ending::TooLong).ends_with("it is too long"));
        assert_eq!(end_of_all(Ending::Finished), "the execution ends");
    }
}
