//! Whether an execution past the step limit repeats the same events.

use super::Op;
use super::event::{Event, EventLog};
use super::task_set::TaskSet;

/// The length of the longest cycle of all tasks' events that is recognised.
const LONGEST_CYCLE: usize = 64;

/// As [`LONGEST_CYCLE`], of the events of one task.
const LONGEST_CYCLE_OF_TASK: usize = 16;

impl EventLog {
    /// Whether the last `length` events repeat a short sequence. If none of them changes anything,
    /// it is sufficient that each task repeats a short sequence of its own and yields in it,
    /// because tasks that sleep and poll alternate in an order that changes. A sequence that sends
    /// a message or wakes a task does not count: messages accumulate, and a woken task has work.
    pub(super) fn ends_in_a_cycle(&self, length: usize) -> bool {
        let Some(start) = self.events.len().checked_sub(length) else {
            return false;
        };
        let tail = &self.events[start..];
        let moves_on = |event: &Event| {
            matches!(
                event.op,
                Op::ChannelSend
                    | Op::Unpark
                    | Op::Unparks
                    | Op::NotifyOne
                    | Op::NotifyAll
                    | Op::FutexWake
            )
        };
        if self.events.len() == self.most || tail.iter().any(moves_on) {
            return false;
        }
        // The order of the tasks changes at the step limit, so their cycles begin a little later.
        let settled = &tail[length / 8..];
        repeat(&tail.iter(), LONGEST_CYCLE)
            || settled.iter().all(|event| event.effect.is_quiet()) && each_task_repeats(settled)
    }
}

/// Whether `events` repeat a sequence of at most `longest` events.
fn repeat<'a>(events: &(impl Iterator<Item = &'a Event> + Clone), longest: usize) -> bool {
    let longest = longest.min(events.clone().count() / 2);
    (1..=longest).any(|period| {
        let later = events.clone().skip(period);
        events.clone().zip(later).all(|(a, b)| a.repeats(b))
    })
}

/// Whether each task that has events in `events` repeats a short sequence of its own, in which it
/// yields. A task that repeats reads without a yield may be computing.
fn each_task_repeats(events: &[Event]) -> bool {
    let mut tasks = TaskSet::new();
    for event in events {
        tasks.insert(event.task);
    }
    tasks.iter().all(|task| {
        let mut own = events.iter().filter(|event| event.task == task);
        let gives_way = |event: &Event| matches!(event.op, Op::Sleep | Op::YieldNow | Op::SpinLoop);
        repeat(&own, LONGEST_CYCLE_OF_TASK) && own.any(gives_way)
    })
}
