//! Tells of a run: one stream of events, several reporters.

mod common;
mod early;
mod excerpt;
mod explanation;
mod failure;
mod fold;
mod github;
mod holding;
mod human;
mod interleaving;
mod json;
mod junit;
mod layout;
mod live;
mod names;
mod objects;
mod outside;
mod page;
mod panics;
mod paths;
mod plain;
mod pointers;
mod progress;
mod record;
mod repository;
mod sarif;
mod short;
mod shorten;
mod snippet;
mod spurious;
mod summary;
mod text;
mod trace;
mod verdict_line;
mod waiting;

use std::fs::{self, File};
use std::io;

use camino::Utf8Path;

pub use human::Human;
pub use json::Json;
pub use live::Live;
pub(crate) use objects::Objects;
pub(crate) use page::page;
pub use paths::{source_path, with_source_paths};
pub(crate) use pointers::Pointers;
pub use record::Record;
pub(crate) use text::{plural, thousands};
pub(crate) use trace::Trace;

use github::GitHub;
use junit::JUnit;
use plain::Plain;
use repository::Repository;
use sarif::Sarif;
use short::Short;

use crate::cli::{MessageFormat, RunOptions};
use crate::config::Exploration;
use crate::error::{Error, Result};
use crate::events::{Event, TestFinished};
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

impl Detail {
    /// The failure in words for people: that of `test`, with the names of objects.
    fn message<'a>(&'a self, test: &'a TestFinished) -> Option<&'a str> {
        let own = self.finished.message.as_ref();
        own.or(test.message.as_ref()).map(String::as_str)
    }
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

/// The reporters that `options` and the place where this runs ask for.
///
/// People read standard error in any case; only JSON goes to standard output.
pub fn reporter(options: &RunOptions, workspace_root: &Utf8Path) -> Result<Box<dyn Reporter>> {
    let repository = || Repository::around(workspace_root);
    let plain = || Plain::new(workspace_root);
    let mut all: Vec<Box<dyn Reporter>> = Vec::new();
    if let Some(path) = &options.reports.junit {
        all.push(Box::new(JUnit::create(path, plain())?));
    }
    if let Some(path) = &options.reports.sarif {
        all.push(Box::new(Sarif::create(path, repository())?));
    }
    // A consumer of standard output that goes away is no reason not to write the files.
    match options.message_format {
        MessageFormat::Human => {}
        MessageFormat::Short => all.push(Box::new(Short::new(io::stdout()))),
        MessageFormat::Json => all.push(Box::new(Json::new(io::stdout()))),
    }
    all.push(Box::new(Human::on_stderr(options, workspace_root)));
    if let Some(github) = GitHub::find(repository(), plain()) {
        all.push(Box::new(github));
    }
    Ok(Box::new(All(all)))
}

/// An empty file for a report, its directories with it.
fn new_file(path: &Utf8Path) -> Result<File> {
    let directory = path.parent().filter(|parent| !parent.as_str().is_empty());
    let made = directory.map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| File::create(path))
        .map_err(|error| Error::Usage(format!("the report {path} cannot be written: {error}")))
}

/// `text` in lines of at most `width` columns, without a line end after the last.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    text::wrap(text, "", width)
        .replace("\n  ", "\n")
        .trim_end()
        .to_owned()
}

/// Reporters that hear the same, in their order.
struct All(Vec<Box<dyn Reporter>>);

impl Reporter for All {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|it| it.event(event, detail))
    }

    fn live(&mut self, live: &Live) {
        for reporter in &mut self.0 {
            reporter.live(live);
        }
    }

    fn warn(&mut self, message: &str) {
        for reporter in &mut self.0 {
            reporter.warn(message);
        }
    }
}

#[cfg(test)]
mod samples;
