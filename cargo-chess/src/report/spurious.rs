//! What happened for no reason, as `std` allows: what a report says of it.

use super::names::Names;
use super::shorten::place;
use crate::supervise::protocol::{Finished, Step};

/// Of the first wait or weak exchange of that kind, and how to leave such schedules out.
pub(super) fn sentence(finished: &Finished, names: &Names) -> Option<String> {
    let what = |event: &Step| {
        let note = event.note.as_deref()?;
        let wait = note.starts_with("woke spuriously");
        let exchange = note.starts_with("failed spuriously");
        let wait = wait.then_some(("wait", "ends"));
        wait.or_else(|| exchange.then_some(("weak exchange", "fails")))
    };
    let mut events = finished.events.iter();
    let (event, (what, does)) = events.find_map(|event| Some((event, what(event)?)))?;
    let at = event.location();
    let at = at.map_or_else(String::new, |at| format!(" at {}", place(&at)));
    Some(format!(
        "In this execution the {what} of {}{at} {does} for no reason, which its documentation \
         allows. `--spurious never` leaves such schedules out.",
        names.of(event.task)
    ))
}
