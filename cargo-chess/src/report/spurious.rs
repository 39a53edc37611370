//! Sentences about spurious wake-ups and failures, which `std` allows.

use chess_vocabulary::NoteKind;

use super::abbreviate::place;
use super::names::Names;
use crate::protocol::{Finished, Step};

/// A sentence about the first spurious event, with the option that excludes such schedules.
pub(super) fn sentence(finished: &Finished, names: &Names) -> Option<String> {
    let what = |event: &Step| match event.note?.kind()? {
        NoteKind::WokeSpuriously => Some(("wait", "ends")),
        NoteKind::FailedSpuriously => Some(("weak exchange", "fails")),
        _ => None,
    };
    let mut events = finished.events.iter();
    let (event, (what, does)) = events.find_map(|event| Some((event, what(event)?)))?;
    let at = event.location();
    let at = at.map_or_else(String::new, |at| format!(" at {}", place(&at)));
    Some(format!(
        "In this execution the {what} of {}{at} {does} spuriously, as its documentation permits. \
         `--spurious never` excludes such schedules.",
        names.of(event.task)
    ))
}
