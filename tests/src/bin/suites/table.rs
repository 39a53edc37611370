//! The table: a row for each suite, the failures with their explanations, and the alarms.

use std::time::Duration;

use crate::explained::Explanations;
use crate::row::{Failure, Row};

/// The titles of the columns. Before the line: the number of tests that are not ignored, the
/// number of tests that pass under `cargo test`, and the time of `cargo test`. After the line: the
/// times of building under control and of exploring, and the verdicts on the tests that pass under
/// `cargo test`.
pub(crate) const HEADER: &str = "\
suite              version  tests  natively  seconds |   build  seconds  passed  timing  one thread  failed  no verdict";

/// A suite of at most this number of tests must end within [`LIMIT`].
const LARGEST: usize = 250;

const LIMIT: Duration = Duration::from_mins(5);

/// The number of characters to which a message is shortened.
const LONGEST_MESSAGE: usize = 150;

pub(crate) fn row(row: &Row) -> String {
    let text = format!(
        "{:<18} {:<8} {:>5}  {:>8}  {:>7.1} | {:>7.1}  {:>7.1}  {:>6}  {:>6}  {:>10}  {:>6}  {:>10}  {}",
        row.name,
        row.version,
        row.tests,
        row.natively,
        row.native.as_secs_f64(),
        row.build.as_secs_f64(),
        row.run.as_secs_f64(),
        row.passed,
        row.timing,
        row.one_thread,
        row.failures.len(),
        row.unknown.len(),
        row.broken.as_deref().unwrap_or_default(),
    );
    text.trim_end().to_owned()
}

/// Returns the sums of `rows`.
pub(crate) fn total(rows: &[Row]) -> String {
    let mut all = Row {
        name: "all".to_owned(),
        version: rows.len().to_string(),
        ..Row::default()
    };
    for row in rows {
        all.tests += row.tests;
        all.natively += row.natively;
        all.native += row.native;
        all.build += row.build;
        all.run += row.run;
        all.passed += row.passed;
        all.timing += row.timing;
        all.one_thread += row.one_thread;
        all.failures.extend_from_slice(&row.failures);
        all.unknown.extend_from_slice(&row.unknown);
    }
    self::row(&all)
}

/// Prints each explained failure. Returns a description of each problem: a failure that is not
/// explained as a defect of the crate or of its test, a test without a verdict, a suite that took
/// too long, or an error of the tool.
pub(crate) fn print_failures(rows: &[Row], explanations: &Explanations) -> Vec<String> {
    let mut alarms = Vec::new();
    println!("\nFailures that are explained:");
    for row in rows {
        let name = &row.name;
        if let Some(broken) = &row.broken {
            alarms.push(format!("{name}: {broken}"));
        }
        if row.tests <= LARGEST && row.run > LIMIT {
            let seconds = row.run.as_secs();
            alarms.push(format!("{name}: {seconds} s for {} tests", row.tests));
        }
        for failure in &row.failures {
            match explanations.find(row, failure) {
                Some(known) => {
                    let of = known.of.words();
                    println!("{name}: {}\n    {of}: {}", describe(failure), known.why);
                    if !known.of.is_defect() {
                        alarms.push(format!("{name}: {} ({of})", describe(failure)));
                    }
                }
                None => alarms.push(format!("{name}: not explained: {}", describe(failure))),
            }
        }
        let unknown = row.unknown.iter();
        alarms.extend(unknown.map(|test| format!("{name}: no verdict: {}", describe(test))));
    }
    alarms
}

fn describe(failure: &Failure) -> String {
    let words: Vec<_> = failure.message.split_whitespace().collect();
    let message: String = words.join(" ").chars().take(LONGEST_MESSAGE).collect();
    let preemptions = match failure.preemptions {
        Some(number) => format!(", {number} preemptions"),
        None => String::new(),
    };
    let Failure {
        test,
        kind,
        schedules,
        ..
    } = failure;
    format!("{test}: {kind}, schedule {schedules}{preemptions}: {message}")
}
