//! The message of the watchdog: the task that reached no scheduling point, and its activity.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::super::request::Request;
use super::Activity;
use crate::base::source_path::line_of;
use crate::execution::{Execution, State, Wait, called};
use crate::harness::engine::Engine;

/// The last sentence of a message: the option for a task that is only slow.
const WATCHDOG: &str = ". If the test is only slow, use a larger --watchdog";

/// The message for a task that does not reach a scheduling point.
pub(in crate::harness) fn describe(
    engine: &Engine,
    request: &Request,
    activity: Activity,
) -> String {
    let execution = &engine.execution;
    let seconds = request.watchdog_ms as f64 / 1000.0;
    if execution.descriptors.in_kernel.load(Ordering::Relaxed) {
        return describe_outside_waits(execution, seconds);
    }
    let mut message = String::new();
    match execution
        .live_tasks()
        .nth(execution.schedule.current.0 as usize)
    {
        Some((id, task)) if task.state != State::Finished => {
            let _ = write!(
                message,
                "{} reached no scheduling point for {seconds} s after {}",
                called(id),
                task.op.name()
            );
            if let Some(site) = task.site {
                let _ = write!(message, " at {}", line_of(site));
            }
            message.push_str(&activity.in_words());
            message.push_str(WATCHDOG);
        }
        _ => {
            let _ = write!(
                message,
                "the test did not begin within {seconds} s: code that runs before the test may block"
            );
            message.push_str(WATCHDOG);
        }
    }
    message
}

/// Describes the waits that only events outside the process can end. All tasks wait.
fn describe_outside_waits(execution: &Execution, seconds: f64) -> String {
    let mut message = format!("no task could continue for {seconds} s: ");
    let waits_outside = |state| {
        matches!(
            state,
            State::Blocked(Wait::Descriptors(..) | Wait::Outside(..))
        )
    };
    let tasks = || execution.live_tasks();
    let some_waits = tasks().any(|(_, task)| waits_outside(task.state));
    // If no task waits for the outside directly, a signal of a child may continue any blocked task.
    // Then the message names all blocked tasks.
    let waiting = tasks().filter(|(_, task)| match task.state {
        State::Blocked(_) => waits_outside(task.state) || !some_waits,
        _ => false,
    });
    for (at, (id, task)) in waiting.enumerate() {
        let separator = if at == 0 { "" } else { "; " };
        let (name, op) = (called(id), task.op.name());
        let _ = write!(message, "{separator}{name} is at the operation `{op}`");
        if let Some(site) = task.site {
            let _ = write!(message, " at {}", line_of(site));
        }
    }
    message.push_str(". Only an event outside the process can continue the test");
    message.push_str(WATCHDOG);
    message
}

impl Activity {
    /// The end of the sentence "task 1 reached no scheduling point for 60 s after load at
    /// src/lib.rs:9".
    fn in_words(self) -> String {
        match self {
            Self::Computes => ": it computes".to_owned(),
            Self::Waits(number) => {
                let name = name_of(number).map_or_else(
                    || format!("with the number {number}"),
                    |name| format!("{name} ({number})"),
                );
                format!(": it is in the system call {name}, which is outside control")
            }
            Self::Unknown => ": it computes, or waits for an event outside control".to_owned(),
        }
    }
}

/// The name of a system call (x86-64) in which a program may wait.
fn name_of(number: usize) -> Option<&'static str> {
    Some(match number {
        0 => "read",
        1 => "write",
        2 => "open",
        3 => "close",
        7 => "poll",
        16 => "ioctl",
        17 => "pread64",
        18 => "pwrite64",
        19 => "readv",
        20 => "writev",
        23 => "select",
        34 => "pause",
        35 => "nanosleep",
        42 => "connect",
        43 => "accept",
        44 => "sendto",
        45 => "recvfrom",
        46 => "sendmsg",
        47 => "recvmsg",
        61 => "wait4",
        65 => "semop",
        69 => "msgsnd",
        70 => "msgrcv",
        72 => "fcntl",
        73 => "flock",
        74 => "fsync",
        75 => "fdatasync",
        128 => "rt_sigtimedwait",
        130 => "rt_sigsuspend",
        202 => "futex",
        208 => "io_getevents",
        220 => "semtimedop",
        230 => "clock_nanosleep",
        232 => "epoll_wait",
        242 => "mq_timedsend",
        243 => "mq_timedreceive",
        247 => "waitid",
        257 => "openat",
        270 => "pselect6",
        271 => "ppoll",
        275 => "splice",
        276 => "tee",
        278 => "vmsplice",
        281 => "epoll_pwait",
        288 => "accept4",
        295 => "preadv",
        296 => "pwritev",
        299 => "recvmmsg",
        307 => "sendmmsg",
        318 => "getrandom",
        326 => "copy_file_range",
        426 => "io_uring_enter",
        441 => "epoll_pwait2",
        449 => "futex_waitv",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::handover::Backend;

    #[test]
    fn the_activity_of_a_silent_task_is_reported_if_it_is_known() {
        let all = [
            Activity::Computes,
            Activity::Waits(7),
            Activity::Waits(9999),
            Activity::Unknown,
        ];
        assert_eq!(
            all.map(Activity::in_words),
            [
                ": it computes",
                ": it is in the system call poll (7), which is outside control",
                ": it is in the system call with the number 9999, which is outside control",
                ": it computes, or waits for an event outside control",
            ]
        );
    }

    #[test]
    fn a_test_that_has_not_begun_is_reported_as_held_up_before() {
        let engine = crate::harness::engine::empty(Backend::Fibers);
        let request = Request::parse("watchdog-ms=1500").expect("a request");
        assert_eq!(
            describe(&engine, &request, Activity::Unknown),
            "the test did not begin within 1.5 s: code that runs before the test may block. If the test \
             is only slow, use a larger --watchdog"
        );
    }
}
