//! Time that passed while tasks could still go on: what a report says of it.

use super::names::Names;
use super::shorten::place;
use crate::supervise::protocol::Finished;

/// Of the first wait or sleep that ended so, and how to leave such schedules out.
pub(super) fn sentence(finished: &Finished, names: &Names) -> Option<String> {
    let mut events = finished.events.iter();
    let event = events.find(|event| is_early(event.note.as_deref()))?;
    let at = event.location();
    let at = at.map_or_else(String::new, |at| format!(" at {}", place(&at)));
    Some(format!(
        "In this execution time passes early: that of {}{at} ({}) is over while other tasks could \
         still go on. `--timers last` lets time pass only when nothing else can.",
        names.of(event.task),
        event.op
    ))
}

fn is_early(note: Option<&str>) -> bool {
    note.is_some_and(|note| note.starts_with("timed out early") || note.starts_with("ended early"))
}
