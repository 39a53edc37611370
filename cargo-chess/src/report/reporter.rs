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
    /// The next event; `detail` comes with each `test-finished`, but for ignored tests.
    ///
    /// An error ends the run; a consumer that went away is a broken pipe.
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()>;

    /// The current state of the run, which is not in the order of the events.
    fn state(&mut self, _state: &RunState) {}

    /// A sentence that belongs to no test.
    fn warn(&mut self, _message: &str) {}
}

/// An empty file for a report, its directories with it.
pub(super) fn new_file(path: &Utf8Path) -> Result<File> {
    let directory = path.parent().filter(|parent| !parent.as_str().is_empty());
    let made = directory.map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| File::create(path))
        .map_err(|error| Error::Usage(format!("the report {path} cannot be written: {error}")))
}
