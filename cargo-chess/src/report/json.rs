//! The reporter for programs: each event as one JSON object on a line. The fields of the objects
//! are in `events/`; those of a test's last object are in `events/finished.rs`.

use std::io::{self, Write};

use super::reporter::Reporter;
use crate::analysis::Detail;
use crate::events::Event;

/// Prints each event to `W` without delay.
pub(crate) struct Json<W> {
    out: W,
}

impl<W: Write> Json<W> {
    /// Prints to `out`.
    pub(crate) fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Reporter for Json<W> {
    fn event(&mut self, event: &Event, _detail: Option<&Detail>) -> io::Result<()> {
        // One write for each line: no consumer sees a part of an event.
        let mut line = serde_json::to_string(event)?;
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}
