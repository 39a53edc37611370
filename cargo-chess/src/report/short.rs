//! The reporter for editors. It prints lines in the form of compiler errors: one for each failure,
//! and one for each place where a task waits or was preempted.

use std::io::{self, Write};

use super::abbreviate::{operation, shown, switched};
use super::names::Names;
use super::reporter::Reporter;
use crate::analysis::Detail;
use crate::events::{Event, Location, TestFinished, TestId};
use crate::protocol::Finished;
use crate::schedule::replay_command;

/// Prints lines such as `src/lib.rs:40:9: error: ...` to `W`.
pub(super) struct Short<W> {
    out: W,
}

impl<W: Write> Short<W> {
    /// Prints to `out`.
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    fn failed(&mut self, test: &TestFinished, detail: &Detail) -> io::Result<()> {
        let kind = test.kind.map_or("no verdict", |kind| kind.name());
        let id = test.id();
        let what = failure(&id, kind, detail.message(test));
        let replay = detail
            .schedule
            .as_ref()
            .map_or_else(String::new, |schedule| {
                format!(" ({})", replay_command(schedule.id()))
            });
        let notes = notes(&detail.finished);
        // A deadlock has no panic. Its place is that of a waiting task.
        let first = notes.first().and_then(|(place, _)| place.as_ref());
        let place = test.location.as_ref().or(first);
        let mut lines = line(place, "error", &(what + &replay));
        for (place, text) in &notes {
            lines += &line(place.as_ref(), "note", text);
        }
        for other in &test.other_failures {
            let what = failure(&id, other.kind.name(), other.message.as_deref());
            lines += &line(other.location.as_ref(), "error", &what);
        }
        // One write keeps the lines of a failure together.
        self.out.write_all(lines.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Reporter for Short<W> {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        match (event, detail) {
            (Event::TestFinished(test), Some(detail)) if test.outcome.fails_run() => {
                self.failed(test, detail)
            }
            _ => Ok(()),
        }
    }
}

/// The places at which tasks wait at the end or were switched out, each with its text.
fn notes(finished: &Finished) -> Vec<(Option<Location>, String)> {
    let names = Names::new(&finished.tasks);
    let waiting = finished.blocked.iter().map(|it| {
        let what = operation(it.op.name(), shown(it.object.as_ref()));
        let preempted = if it.preempted {
            ", and was preempted before this operation"
        } else {
            ""
        };
        let text = format!("{} waits in {what}{preempted}", names.of(it.task));
        (it.shown_location(), text)
    });
    let preempted = finished.events.iter().filter(|step| step.preempted);
    let preempted = preempted.map(|it| {
        let text = format!("{} is preempted {}", names.of(it.task), switched(it));
        (it.shown_location(), text)
    });
    waiting.chain(preempted).collect()
}

fn line(place: Option<&Location>, level: &str, text: &str) -> String {
    let place = place.map_or_else(String::new, |it| {
        format!("{}:{}:{}: ", it.file, it.line, it.column)
    });
    format!("{place}{level}: {text}\n")
}

/// The failed test and its failure. The kind is not repeated if the message begins with it.
fn failure(test: &TestId, kind: &str, message: Option<&str>) -> String {
    let message = in_one_line(message.unwrap_or_default());
    if message.starts_with(kind) {
        format!("{test}: {message}")
    } else {
        format!("{test}: {kind}: {message}")
    }
}

fn in_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn a_failure_and_its_places_are_lines_as_of_a_compiler() {
        let mut out = Vec::new();
        let mut short = Short::new(&mut out);
        for (name, finished) in [
            ("panics", samples::panic()),
            ("fails in many ways", samples::many_failures()),
            ("blocks", samples::deadlock()),
            ("passes", samples::passed(Some(2), true)),
        ] {
            let (test, detail) = samples::test(name, finished, "");
            let event = Event::TestFinished(Box::new(test));
            short.event(&event, Some(&detail)).unwrap();
        }
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
