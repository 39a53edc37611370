//! The interface of reporters.

use std::fs::{self, File};
use std::io;

use camino::Utf8Path;

use super::run_state::RunState;
use crate::analysis::Detail;
use crate::error::{Error, Result};
use crate::events::Event;

/// An output of a run, for people or for a program.
pub(crate) trait Reporter {
    /// Handles the next event. Each `test-finished` has a `detail`, except the event of an ignored
    /// test.
    ///
    /// An error ends the run. The kind `BrokenPipe` means that the consumer has closed the output.
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()>;

    /// Handles a new state of the run. States are not in the order of the events.
    fn state(&mut self, _state: &RunState) {}

    /// Handles a warning that belongs to no test.
    fn warn(&mut self, _message: &str) {}
}

/// Creates an empty file for a report, with its directories.
pub(super) fn new_file(path: &Utf8Path) -> Result<File> {
    let directory = path.parent().filter(|parent| !parent.as_str().is_empty());
    let made = directory.map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| File::create(path))
        .map_err(|error| Error::Usage(format!("the report {path} cannot be written: {error}")))
}
