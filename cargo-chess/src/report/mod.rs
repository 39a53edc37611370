//! Tells of a run: one stream of events, several reporters.

mod excerpt;
mod explanation;
mod failure;
mod fold;
mod holding;
mod human;
mod interleaving;
mod json;
mod layout;
mod live;
mod names;
mod outside;
mod panics;
mod paths;
mod pointers;
mod progress;
mod record;
mod shorten;
mod snippet;
mod summary;
mod text;
mod verdict_line;
mod waiting;

use std::io;

use camino::Utf8Path;

pub use human::Human;
pub use json::Json;
pub use live::Live;
pub use paths::{source_path, with_source_paths};
pub(crate) use pointers::Pointers;
pub use record::Record;
pub(crate) use text::{plural, thousands};

use crate::cli::{MessageFormat, RunOptions};
use crate::config::Exploration;
use crate::events::Event;
use crate::schedule::Schedule;
use crate::supervise::protocol::Finished;

/// What a `test-finished` event leaves out, for those who show a failure.
#[derive(Clone, PartialEq, Debug)]
pub struct Detail {
    /// The options that the test was explored with.
    pub exploration: Exploration,
    /// The verdict with the failing execution.
    pub finished: Finished,
    /// What the test process wrote to standard error.
    pub stderr: String,
    /// The schedule, if one was saved.
    pub schedule: Option<Schedule>,
}

/// Someone who tells the user, or a program, of a run.
pub trait Reporter {
    /// The next event; `detail` comes with each `test-finished`, but for ignored tests.
    ///
    /// An error ends the run; a consumer that went away is a broken pipe.
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()>;

    /// What happens at this moment, out of order.
    fn live(&mut self, _live: &Live) {}

    /// A sentence that belongs to no test.
    fn warn(&mut self, _message: &str) {}
}

/// The reporters that `options` ask for.
///
/// People read standard error in any case; only JSON goes to standard output.
pub fn reporter(options: &RunOptions, workspace_root: &Utf8Path) -> Box<dyn Reporter> {
    let human = Human::on_stderr(options, workspace_root);
    match options.message_format {
        MessageFormat::Human => Box::new(human),
        MessageFormat::Json => Box::new(Both(Json::new(io::stdout()), human)),
    }
}

/// `text` in lines of at most `width` columns, without a line end after the last.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    text::wrap(text, "", width)
        .replace("\n  ", "\n")
        .trim_end()
        .to_owned()
}

/// Two reporters that hear the same.
struct Both<A, B>(A, B);

impl<A: Reporter, B: Reporter> Reporter for Both<A, B> {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        self.0.event(event, detail)?;
        self.1.event(event, detail)
    }

    fn live(&mut self, live: &Live) {
        self.0.live(live);
        self.1.live(live);
    }

    fn warn(&mut self, message: &str) {
        self.0.warn(message);
        self.1.warn(message);
    }
}

#[cfg(test)]
mod samples;
