//! All that is told of one failure: message, source line, interleaving, output, how to replay it.

use camino::Utf8Path;

use super::Detail;
use super::interleaving::interleaving;
use super::names::Names;
use super::snippet::snippet;
use super::text::{BAD, BOLD, NOTE, indented, plural, status, styled, wrap};
use super::waiting;
use crate::events::{Outcome, TestFinished};

/// How a failure is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Whether every event is shown.
    pub(super) whole: bool,
    /// Whether the one-word form of the schedule is shown too.
    pub(super) inline: bool,
}

/// The report on `test`, which failed or got no verdict.
pub(super) fn failure(
    root: &Utf8Path,
    test: &TestFinished,
    detail: &Detail,
    style: Style,
) -> String {
    let finished = &detail.finished;
    let names = Names::new(&finished.tasks);
    let kind = match (test.outcome, test.kind) {
        (_, Some(kind)) => kind.to_string(),
        (Outcome::Timeout, None) => "timeout".to_owned(),
        (_, None) => "failure".to_owned(),
    };
    let mut text = format!(
        "{}{} {}\n\n",
        styled(BAD, &kind),
        styled(BOLD, ":"),
        styled(BOLD, test.id())
    );
    if let Some(message) = &test.message {
        text += &indented(message, "    ");
        text.push('\n');
    }
    if let Some(location) = &test.location {
        text += &snippet(root, location);
        text.push('\n');
    }
    let sentences = waiting::sentences(finished, &names);
    if !sentences.is_empty() {
        for sentence in sentences {
            text += &wrap(&sentence, "    ", style.width);
        }
        text.push('\n');
    }
    if !finished.events.is_empty() {
        let steps = plural(finished.events.len() as u64, "event");
        let preemptions = test.preemptions.map_or_else(String::new, |n| {
            format!(", {}", plural(n.into(), "preemption"))
        });
        text += &format!(
            "  {}\n",
            styled(
                BOLD,
                format!("The failing execution ({steps}{preemptions}):")
            )
        );
        text += &interleaving(finished, &names, style.width, style.whole);
        text.push('\n');
    }
    text += &quoted("What it printed:", &finished.output);
    text += &quoted(
        "What the test process wrote to standard error:",
        &detail.stderr,
    );
    if let (Some(path), Some(schedule)) = (&test.schedule, &detail.schedule) {
        text += &status(NOTE, "Saved", path);
        text += &status(
            NOTE,
            "Replay",
            format!("cargo chess replay {}", schedule.id()),
        );
        if style.inline {
            text += &status(
                NOTE,
                "or",
                format!("cargo chess replay {}", schedule.to_inline()),
            );
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn quoted(heading: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    format!(
        "  {}\n{}\n",
        styled(BOLD, heading),
        indented(text.trim_end(), "    ")
    )
}
