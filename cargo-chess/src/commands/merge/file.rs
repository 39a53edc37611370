//! The events of one shard, read from a file.

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{Error, Result};
use crate::events::{Event, RunFinished, RunStarted, TestFinished, TestId};
use crate::shard::Part;

/// The contents of a shard's file.
#[derive(Debug)]
pub(super) struct File {
    /// The path of the file.
    pub(super) path: Utf8PathBuf,
    /// The first event.
    pub(super) started: RunStarted,
    /// The part of this shard in the whole run.
    pub(super) part: Part,
    /// The events of the tests marked `#[ignore]`, which come first.
    pub(super) ignored: Vec<TestEvents>,
    /// The events of the selected tests.
    pub(super) tests: Vec<TestEvents>,
    /// The last event.
    pub(super) finished: RunFinished,
}

/// All events of one test.
#[derive(Debug)]
pub(super) struct TestEvents {
    /// The test.
    pub(super) id: TestId,
    /// The events of the test, in order.
    pub(super) events: Vec<Event>,
}

impl TestEvents {
    /// The verdict on the test; `None` if the run ended before the test had a verdict.
    pub(super) fn verdict(&self) -> Option<&TestFinished> {
        match self.events.last() {
            Some(Event::TestFinished(test)) => Some(test),
            _ => None,
        }
    }
}

impl File {
    /// Reads the events of a shard.
    pub(super) fn read(path: &Utf8Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| {
            Error::Usage(format!(
                "could not read {path}: {error}.\n\
                 Pass the files with the output of `cargo chess test --shard K/N --message-format json`."
            ))
        })?;
        Self::parse(path, &String::from_utf8_lossy(&bytes))
    }

    fn parse(path: &Utf8Path, text: &str) -> Result<Self> {
        let mut events = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            events.push(event(line).map_err(|problem| {
                Error::Usage(format!(
                    "{path}:{number}: expected a JSON event, {problem}.\nPass the unchanged output of \
                     `cargo chess test --shard K/N --message-format json`, without its standard error."
                ))
            })?);
        }
        let refused = |what: &str| Err(Error::Usage(format!("{path} {what}")));
        let not_whole = |what: &str| {
            refused(&format!(
                "{what}.\nPass the output of each shard as one unchanged file."
            ))
        };
        if events.is_empty() {
            return refused(
                "has no events: the run ended before its first test. The standard error of the run has the reason.",
            );
        }
        let mut events = events.into_iter();
        let Some(Event::RunStarted(started)) = events.next() else {
            return not_whole("does not begin with the event `run-started`");
        };
        let Some(part) = started.shard.clone() else {
            return refused(
                "is the output of a run without --shard, which has no parts to merge.\n\
                 Pass only the outputs of runs with `--shard K/N`.",
            );
        };
        let mut printed: Vec<TestEvents> = Vec::new();
        let mut finished = None;
        for event in events {
            let id = match &event {
                _ if finished.is_some() => {
                    return not_whole("continues after the event `run-finished`");
                }
                Event::RunStarted(_) => return not_whole("has more than one run"),
                Event::RunFinished(run) => {
                    finished = Some(run.clone());
                    continue;
                }
                Event::TestStarted(id) => {
                    printed.push(TestEvents {
                        id: id.clone(),
                        events: vec![event],
                    });
                    continue;
                }
                Event::Progress(progress) => TestId {
                    package: progress.package.clone(),
                    binary: progress.binary.clone(),
                    test: progress.test.clone(),
                },
                Event::TestFinished(verdict) => verdict.id(),
            };
            match printed.last_mut().filter(|last| last.id == id) {
                Some(last) => last.events.push(event),
                None => {
                    return not_whole(&format!(
                        "has an event of the test `{id}` before the event `test-started` of this test"
                    ));
                }
            }
        }
        let Some(finished) = finished else {
            return refused(&format!(
                "has no event `run-finished`: the run did not finish.\n\
                 Resume it with --shard {} --resume, and merge its new output.",
                part.shard()
            ));
        };
        if finished.ignored > printed.len() {
            return not_whole("has fewer ignored tests than its event `run-finished` counts");
        }
        let tests = printed.split_off(finished.ignored);
        Ok(Self {
            path: path.to_owned(),
            started,
            part,
            ignored: printed,
            tests,
            finished,
        })
    }
}

fn event(line: &str) -> Result<Event, String> {
    serde_json::from_str(line).map_err(|error| {
        let shown: String = line.chars().take(60).collect();
        // The text of the error ends with a position in this one line. The message has the line of
        // the file, so this position is cut off.
        let is_json = error.is_data();
        let error = error.to_string();
        let (what, _) = error.rsplit_once(" at line ").unwrap_or((&error, ""));
        let reason = if is_json {
            format!(" ({what})")
        } else {
            String::new()
        };
        format!("found `{shown}`{reason}")
    })
}
