//! The line of a test: outcome, name, explored part, time; and the statistics of `-v`.

use super::early_timeouts;
use super::late_effects;
use super::summary::{reached, single_steps};
use crate::analysis::Detail;
use crate::events::{Outcome, RegressionOutcome, RegressionRun, TestFinished};
use crate::text::{BAD, DIM, GOOD, NOTE, WARN, plural, status, styled, thousands};

/// The line of a test: outcome, name, schedules, explored part, time.
pub(super) fn line(test: &TestFinished, detail: &Detail) -> String {
    let time = seconds(test.duration_ms);
    let note = |text: String| styled(DIM, format!("({text}, {time})"));
    let id = test.id();
    match test.outcome {
        Outcome::Passed => status(
            GOOD,
            "Passed",
            format!("{id} {}", note(reached(test, detail) + earlier(test))),
        ),
        Outcome::Failed => {
            let kind = test.kind.map_or("failure", |kind| kind.name());
            let others = match test.other_failures.len() {
                0 => String::new(),
                n => format!(" and {}", plural(n as u64, "other failure")),
            };
            let found = found(test, detail);
            status(
                BAD,
                "Failed",
                format!("{id}: {kind}{others} {}", note(found)),
            )
        }
        Outcome::Timing => {
            let kind = test.kind.map_or("failure", |kind| kind.name());
            let found = found(test, detail);
            let mut line = status(WARN, "Timing", format!("{id}: {kind} {}", note(found)));
            for sentence in early_timeouts::needs(test) {
                line += &status(NOTE, "Note", sentence);
            }
            line
        }
        Outcome::Skipped => status(
            WARN,
            "Skipped",
            format!("{id} {}", note("not explored".into())),
        ),
        Outcome::Timeout => status(
            BAD,
            "Timed out",
            format!("{id} {}", note("no verdict".into())),
        ),
    }
}

/// The words for a verdict of an earlier run.
fn earlier(test: &TestFinished) -> &'static str {
    if test.cached { ", stored verdict" } else { "" }
}

/// The statistics of `-v`: `19 executions (11 distinct), 412 steps (at most 61 in one), 3 tasks,
/// strategy icb`.
pub(super) fn statistics(test: &TestFinished) -> String {
    let counts = format!(
        "{} ({} distinct), {} (at most {} in one), {}, strategy {}",
        plural(test.counts.executions, "execution"),
        thousands(test.counts.distinct),
        plural(test.counts.steps, "step"),
        thousands(test.counts.max_steps_in_execution),
        plural(test.counts.threads.into(), "task"),
        test.strategy.as_deref().unwrap_or("unknown"),
    );
    if test.atomic.is_empty() {
        counts
    } else {
        format!("{counts}, {}", single_steps(&test.atomic))
    }
}

/// The number of the failing schedule and its cost. If the search continues after failures,
/// returns the explored part instead.
fn found(test: &TestFinished, detail: &Detail) -> String {
    if detail.exploration.keep_going {
        return reached(test, detail);
    }
    let failed = |run: &&RegressionRun| run.outcome == RegressionOutcome::Failed;
    let schedules = match (test.regressions.iter().find(failed), test.counts.schedules) {
        (Some(regression), 0 | 1) => format!("regression {}", regression.schedule),
        (_, 0) => "no schedule".to_owned(),
        (_, n) => format!("schedule {}", thousands(n)),
    };
    let cost = |n| format!(", {}", late_effects::cost(n, &detail.finished));
    schedules + &test.counts.preemptions.map_or_else(String::new, cost)
}

/// For example, `0.41s`.
pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{:02}s", thousands(millis / 1000), millis % 1000 / 10)
}
