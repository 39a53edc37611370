//! The reporter for services that read SARIF 2.1.0 (OASIS). Each failure is a result, and its
//! interleaving has a flow for each task.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};

use camino::Utf8Path;
use serde_json::{Value, json};

use super::abbreviate::{operation, shown};
use super::early_timeouts;
use super::names::Names;
use super::plain::preemptions;
use super::reporter::{Reporter, new_file};
use super::repository::Repository;
use crate::analysis::Detail;
use crate::error::Result;
use crate::events::{Event, Kind, Location, Outcome, TestFinished};
use crate::protocol::{Finished, Step};
use crate::schedule::replay_command;

/// The highest number of events of an execution that are written. If there are more, only the last
/// ones are written.
const EVENTS: usize = 1000;

/// Writes the log when the run ends, also if an error or an interrupt ends it.
pub(super) struct Sarif {
    file: File,
    repository: Repository,
    kinds: Vec<Kind>,
    results: Vec<Value>,
}

impl Sarif {
    /// Creates the reporter, and an empty file at `path`.
    pub(super) fn create(path: &Utf8Path, repository: Repository) -> Result<Self> {
        let file = new_file(path)?;
        Ok(Self {
            file,
            repository,
            kinds: Vec::new(),
            results: Vec::new(),
        })
    }

    fn add(&mut self, test: &TestFinished, detail: Option<&Detail>) {
        let is_reported = matches!(test.outcome, Outcome::Failed | Outcome::Timing);
        let Some(kind) = test.kind.filter(|_| is_reported) else {
            return;
        };
        let finished = detail.map(|detail| &detail.finished);
        let message = detail.map_or(test.message.as_deref(), |detail| detail.message(test));
        let mut message = message.unwrap_or_default().to_owned();
        for sentence in early_timeouts::needs(test) {
            message = format!("{message}\n{sentence}");
        }
        for sentence in finished.map(preemptions).unwrap_or_default() {
            message = format!("{message}\n{sentence}");
        }
        if let Some(schedule) = detail.and_then(|detail| detail.schedule.as_ref()) {
            let replay = replay_command(schedule.to_inline());
            message = format!("{message}\nreplay: {replay}");
        }
        let mut result = self.result(test, kind, &message, test.location.as_ref());
        let events = finished.map_or(&[][..], |finished| &finished.events);
        if let Some(finished) = finished.filter(|_| !events.is_empty()) {
            result["codeFlows"] = json!([{ "threadFlows": self.flows(finished) }]);
        }
        self.results.push(result);
        for other in &test.other_failures {
            let message = other.message.as_deref().unwrap_or_default();
            let result = self.result(test, other.kind, message, other.location.as_ref());
            self.results.push(result);
        }
    }

    fn result(
        &mut self,
        test: &TestFinished,
        kind: Kind,
        message: &str,
        location: Option<&Location>,
    ) -> Value {
        let known = self.kinds.iter().position(|known| *known == kind);
        let rule = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        let id = test.id();
        let place = location.and_then(|at| self.place(&at.file, at.line, at.column));
        let places = place.map(|place| json!({ "physicalLocation": place }));
        json!({
            "ruleId": kind.name(),
            "ruleIndex": rule,
            "level": if test.outcome == Outcome::Timing { "warning" } else { "error" },
            "message": { "text": format!("{id}: {kind}\n{message}") },
            "locations": places.into_iter().collect::<Vec<_>>(),
            "partialFingerprints": { "testAndKind/v1": format!("{id}: {kind}") },
        })
    }

    /// A place in a file of the repository.
    fn place(&self, file: &str, line: u32, column: u32) -> Option<Value> {
        let path = self.repository.path_of(file)?;
        let region = match column {
            0 => json!({ "startLine": line }),
            _ => json!({ "startLine": line, "startColumn": column }),
        };
        let uri = json!({ "uri": uri(&path), "uriBaseId": "%SRCROOT%" });
        (line > 0).then(|| json!({ "artifactLocation": uri, "region": region }))
    }

    /// A flow for each task that has events.
    fn flows(&self, finished: &Finished) -> Vec<Value> {
        let names = Names::new(&finished.tasks);
        let before = finished.events.len().saturating_sub(EVENTS);
        let last = || (1_u64..).zip(&finished.events).skip(before);
        let mut tasks: Vec<u32> = last().map(|(_, step)| step.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let flow = |task: u32| {
            let own = last().filter(|(_, step)| step.task == task);
            let steps: Vec<Value> = own.map(|(number, step)| self.step(number, step)).collect();
            json!({ "id": names.of(task), "locations": steps })
        };
        tasks.into_iter().map(flow).collect()
    }

    fn step(&self, number: u64, step: &Step) -> Value {
        let mut text = operation(step.op.name(), shown(step.object.as_ref()));
        if step.preempted {
            text += " (the task was preempted before it)";
        }
        let mut location = json!({ "message": { "text": text } });
        let file = step.file.as_ref().zip(step.line);
        let place = file.and_then(|(file, line)| {
            let column = step.column.unwrap_or(0);
            self.place(file, line, column)
        });
        if let Some(place) = place {
            location["physicalLocation"] = place;
        }
        json!({ "executionOrder": number, "location": location })
    }

    fn log(&mut self) -> Value {
        let rule = |kind: &Kind| json!({ "id": kind.name(), "shortDescription": { "text": kind.description() } });
        let rules: Vec<Value> = self.kinds.iter().map(rule).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "cargo-chess",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                } },
                "columnKind": "unicodeCodePoints",
                "results": std::mem::take(&mut self.results),
            }],
        })
    }
}

impl Reporter for Sarif {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        match event {
            Event::TestFinished(test) => self.add(test, detail),
            Event::RunFinished(_) => {
                let log = self.log();
                serde_json::to_writer_pretty(&self.file, &log)?;
                self.file.write_all(b"\n")?;
            }
            Event::RunStarted(_) | Event::TestStarted(_) | Event::Progress(_) => {}
        }
        Ok(())
    }
}

/// `path` as a relative reference (RFC 3986, section 4.2).
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(byte.into());
        } else {
            write!(uri, "%{byte:02X}").expect("memory takes every byte");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn each_test_of_a_run_is_in_the_file() {
        let file =
            samples::reported(|root, path| Sarif::create(path, Repository::around(root)).unwrap());
        insta::assert_snapshot!(file);
    }

    #[test]
    fn characters_that_a_uri_cannot_hold_are_encoded() {
        assert_eq!(uri("src/lib.rs"), "src/lib.rs");
        assert_eq!(uri("my crate/src/ü.rs"), "my%20crate/src/%C3%BC.rs");
    }
}
