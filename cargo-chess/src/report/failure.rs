//! The report on one failure: message, source line, interleaving, output, command to replay it.

use camino::Utf8Path;

use super::deadlock;
use super::early_timeouts;
use super::explanation::explaining_calls;
use super::interleaving::{Table, interleaving};
use super::late_effects;
use super::names::Names;
use super::panics;
use super::snippet::snippet;
use super::spurious;
use crate::analysis::Detail;
use crate::events::{
    Kind, Location, Minimised, OtherFailure, Outcome, RegressionOutcome, TestFinished,
};
use crate::protocol::Finished;
use crate::schedule::directory::id_in;
use crate::schedule::replay_command;
use crate::text::{
    BAD, BOLD, NOTE, grouped, indented, plural, source_path, status, styled, thousands, wrap,
};

/// The form in which a failure is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Whether all events are shown, and none are folded.
    pub(super) whole: bool,
    /// Whether the report has the path of the saved schedule and the command that replays it.
    pub(super) saved: bool,
    /// Whether the one-word form of the schedule is also shown.
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
    let mut report = heading(root, test, finished, style.width);
    if !finished.events.is_empty() {
        report += &execution(test, finished, style);
        report.push('\n');
    }
    let minimised = test.minimised.as_ref();
    let shrunk = minimised.and_then(shrunk);
    let notes = [("Shrunk", shrunk), ("Weak", minimised.and_then(weak))];
    for (what, text) in notes {
        if let Some(text) = text {
            report += &status(NOTE, what, text);
            report.push('\n');
        }
    }
    report += &printed(detail);
    if let (Some(path), true) = (&test.schedule, style.saved) {
        report += &status(NOTE, "Saved", path);
        report += &status(NOTE, "Replay", replay_command(id_in(path)));
        // The one-word form is for readers on another machine, for example if the test ran in a
        // shard.
        if let (Some(schedule), true) = (&detail.schedule, style.inline) {
            report += &status(NOTE, "or", replay_command(schedule.to_inline()));
        }
    }
    for run in &test.regressions {
        if run.outcome == RegressionOutcome::Saved && style.saved {
            let what = "commit this file: later runs begin with it";
            report += &status(NOTE, "Kept", format!("{} ({what})", run.schedule));
        }
    }
    report += &others(test, style);
    report.truncate(report.trim_end().len());
    report + "\n"
}

/// The failed test, the message, the source line, and the waiting tasks.
pub(super) fn heading(
    root: &Utf8Path,
    test: &TestFinished,
    finished: &Finished,
    width: usize,
) -> String {
    let names = Names::new(&finished.tasks);
    let kind = match (test.outcome, test.kind) {
        (_, Some(kind)) => kind.to_string(),
        (Outcome::Timeout, None) => "timeout".to_owned(),
        (_, None) => "failure".to_owned(),
    };
    let is_weak = test.minimised.as_ref().is_some_and(|it| it.weak);
    let weak = if is_weak { " (weak memory)" } else { "" };
    let mut report = format!(
        "{}{weak}{} {}\n\n",
        styled(BAD, &kind),
        styled(BOLD, ":"),
        styled(BOLD, test.id())
    );
    let waiting = deadlock::sentences(finished, &names);
    let waiting: String = waiting
        .iter()
        .map(|sentence| wrap(sentence, "    ", width))
        .collect();
    let panics = panics::sentences(finished, &names);
    let panics: String = panics
        .iter()
        .map(|sentence| wrap(sentence, "    ", width))
        .collect();
    let message = match (&test.message, test.kind) {
        (None, _) => String::new(),
        // The message of a panic is the program's, so its lines are kept.
        (Some(message), Some(Kind::Panic)) => indented(message, "    "),
        (Some(message), _) => wrap(&grouped(message), "    ", width),
    };
    let avoidable = [
        early_timeouts::sentence,
        spurious::sentence,
        late_effects::sentence,
    ]
    .map(|of| of(finished, &names));
    let avoidable: String = avoidable
        .iter()
        .flatten()
        .map(|sentence| wrap(sentence, "    ", width))
        .collect();
    // For a deadlock, the sentences about the waiting tasks replace the message. They have the
    // content of the message, and also the names of the tasks.
    let is_reported = test.kind == Some(Kind::Deadlock) && !waiting.is_empty();
    let source = test
        .location
        .as_ref()
        .map_or_else(String::new, |location| snippet(root, location));
    let paragraphs = if is_reported {
        [waiting, source, panics, avoidable, String::new()]
    } else {
        [message, source, panics, waiting, avoidable]
    };
    for paragraph in paragraphs.iter().filter(|paragraph| !paragraph.is_empty()) {
        report += paragraph;
        report.push('\n');
    }
    report
}

/// The most important change of the minimised schedule: `from 14 preemptions to 2 in 180
/// executions`.
fn shrunk(minimised: &Minimised) -> Option<String> {
    let Minimised { from, to, .. } = minimised;
    let sizes = [
        (from.preemptions.into(), to.preemptions.into(), "preemption"),
        (
            from.late_effects.into(),
            to.late_effects.into(),
            "late effect",
        ),
        (from.switches, to.switches, "switch"),
        (from.steps, to.steps, "step"),
    ];
    let (from, to, what) = sizes.into_iter().find(|(from, to, _)| from != to)?;
    let from = match (from, what) {
        (2.., "switch") => format!("{} switches", thousands(from)),
        _ => plural(from, what),
    };
    Some(format!(
        "from {from} to {} in {}",
        thousands(to),
        plural(minimised.executions, "execution")
    ))
}

/// The sentence for a failure that needs a weak memory model.
fn weak(minimised: &Minimised) -> Option<String> {
    let bound = plural(minimised.to.preemptions.into(), "preemption");
    minimised.weak.then(|| {
        format!(
            "without stale loads and late stores, no schedule with up to {bound} has this failure"
        )
    })
}

/// The other failures of the test, in short.
fn others(test: &TestFinished, style: Style) -> String {
    if test.other_failures.is_empty() {
        return String::new();
    }
    let count = plural(test.other_failures.len() as u64, "other failure");
    let heading = styled(BOLD, format!("{count} of this test:"));
    let each = test.other_failures.iter();
    let each: String = each.map(|failure| other(failure, style)).collect();
    format!("\n  {heading}\n{each}")
}

fn other(failure: &OtherFailure, style: Style) -> String {
    let kind = styled(BAD, failure.kind);
    let place = failure.location.as_ref().map(|location| {
        let Location { file, line, column } = location;
        format!(" at {}:{line}:{column}", source_path(file))
    });
    let preemptions = failure.preemptions.map_or_else(String::new, |n| {
        let late = failure.late_effects.unwrap_or(0);
        let rest = plural(n.saturating_sub(late).into(), "preemption");
        match late {
            0 => format!(" ({rest})"),
            late => format!(" ({rest}, {})", plural(late.into(), "late effect")),
        }
    });
    let message = failure.message.as_deref().unwrap_or_default();
    let message = match failure.kind {
        Kind::Panic => indented(message, "      "),
        _ => wrap(&grouped(message), "      ", style.width),
    };
    let saved = failure.schedule.as_ref().filter(|_| style.saved);
    let replay = saved.map_or_else(String::new, |path| {
        format!("      {}\n", replay_command(id_in(path)))
    });
    let place = place.unwrap_or_default();
    format!("    {kind}{place}{preemptions}\n{message}{replay}")
}

/// The table of the execution, with a heading.
fn execution(test: &TestFinished, finished: &Finished, style: Style) -> String {
    let table = Table {
        width: style.width,
        whole: style.whole,
        kept: explaining_calls(finished),
        locks: false,
    };
    table_of(test, finished, &table)
}

/// The table of the execution in the form of `table`, with a heading.
pub(super) fn table_of(test: &TestFinished, finished: &Finished, table: &Table) -> String {
    let what = if test.outcome == Outcome::Passed {
        "execution"
    } else {
        "failing execution"
    };
    let steps = plural(finished.event_count(), "event");
    let recorded = match finished.events_left_out {
        0 => String::new(),
        _ => format!(
            ", of which the first {} are recorded",
            thousands(finished.events.len() as u64)
        ),
    };
    let cost = |n| format!(", {}", late_effects::cost(n, finished));
    let preemptions = test.counts.preemptions.map_or_else(String::new, cost);
    let heading = styled(
        BOLD,
        format!("The {what} ({steps}{preemptions}){recorded}:"),
    );
    let names = Names::new(&finished.tasks);
    format!("  {heading}\n{}", interleaving(finished, &names, table))
}

/// The output of the test, and the output of its process on standard error.
pub(super) fn printed(detail: &Detail) -> String {
    quoted("The test printed:", &detail.finished.output)
        + &quoted("The test process wrote to standard error:", &detail.stderr)
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
