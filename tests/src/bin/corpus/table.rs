//! The table: a row for each crate, and a line for each test that passes only under `cargo test`.

use std::time::Duration;

use end_to_end::published::{Explored, Native, Package, Test};
use serde_json::Value;

/// The titles of the columns: the number of tests that are not ignored, the number of tests that
/// pass under `cargo test`, and the verdicts of `cargo chess test` on these passing tests.
pub(crate) const HEADER: &str = "\
crate                     version  tests  natively  passing  failing  no verdict  seconds";

/// The number of characters to which a message is shortened.
const LONGEST_MESSAGE: usize = 150;

/// The tests that pass under `cargo test`, with the verdicts of the tool on them.
pub(crate) struct Comparison<'a> {
    tests: usize,
    verdicts: Vec<(&'a Test, Option<&'a Value>)>,
}

/// The sums of all rows.
#[derive(Default)]
pub(crate) struct Totals {
    crates: usize,
    tests: usize,
    natively: usize,
    passing: usize,
    failing: usize,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(native: &'a Native, explored: &'a Explored) -> Self {
        Self {
            tests: native.tests.len(),
            verdicts: native
                .passed()
                .map(|test| (test, explored.verdicts.get(test)))
                .collect(),
        }
    }

    fn count(&self, outcome: &str) -> usize {
        let outcomes = self.verdicts.iter().filter_map(|(_, verdict)| *verdict);
        outcomes
            .filter(|verdict| verdict["outcome"] == outcome)
            .count()
    }

    /// Returns the row of `package`.
    pub(crate) fn row(&self, package: &Package, explored: &Explored) -> String {
        let natively = self.verdicts.len();
        let [passing, failing] = ["passed", "failed"].map(|outcome| self.count(outcome));
        let row = format!(
            "{:<25} {:<8} {:>5}  {:>8}  {:>7}  {:>7}  {:>10}  {:>7.1}  {}",
            package.name,
            package.version,
            self.tests,
            natively,
            passing,
            failing,
            natively - passing - failing,
            (explored.build + explored.run).as_secs_f64(),
            explored.broken.as_deref().unwrap_or_default(),
        );
        row.trim_end().to_owned()
    }

    /// Returns the tests in which the tool found a failure.
    pub(crate) fn failed(&self) -> Vec<&'a Test> {
        let failed = self
            .verdicts
            .iter()
            .filter(|(_, verdict)| verdict.is_some_and(|verdict| verdict["outcome"] == "failed"));
        failed.map(|(test, _)| *test).collect()
    }

    /// Returns a line for each test that does not pass under the tool. `orderly` is the second
    /// exploration of the failing tests, in which timeouts end only when no other task can run.
    pub(crate) fn alarms(&self, package: &Package, orderly: Option<&Explored>) -> Vec<String> {
        let alarm = |(test, verdict): &(&Test, Option<&Value>)| {
            let (binary, path) = test;
            let text = match verdict {
                None => "no verdict".to_owned(),
                Some(verdict) if verdict["outcome"] == "passed" => return None,
                Some(verdict) => describe(verdict),
            };
            let failed = verdict.is_some_and(|verdict| verdict["outcome"] == "failed");
            // Tests are selected by name. So `orderly` may also have explored a test without a
            // verdict, if a failed test has the same name.
            let counts_on_sleeps = failed
                && orderly
                    .and_then(|orderly| orderly.verdicts.get(*test))
                    .is_some_and(|verdict| verdict["outcome"] == "passed");
            let note = if counts_on_sleeps {
                " (counts on sleeps: passes with --timers last)"
            } else {
                ""
            };
            Some(format!(
                "{binary} {path} [{}]: {text}{note}",
                package.version
            ))
        };
        self.verdicts.iter().filter_map(alarm).collect()
    }
}

fn describe(verdict: &Value) -> String {
    let text = |field: &str| verdict[field].as_str().unwrap_or_default();
    let kind = verdict["kind"].as_str().unwrap_or(text("outcome"));
    let mut message = text("message").to_owned();
    if message.is_empty() {
        message = verdict["warnings"].to_string();
    }
    let message: String = message
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(LONGEST_MESSAGE)
        .collect();
    let Value::Null = verdict["preemptions"] else {
        return format!(
            "{kind}, schedule {}, {} preemptions: {message}",
            verdict["schedules"], verdict["preemptions"]
        );
    };
    format!("{kind}, schedule {}: {message}", verdict["schedules"])
}

impl Totals {
    pub(crate) fn add(&mut self, comparison: &Comparison) {
        self.crates += 1;
        self.tests += comparison.tests;
        self.natively += comparison.verdicts.len();
        self.passing += comparison.count("passed");
        self.failing += comparison.count("failed");
    }

    /// Returns the last row, with the sums.
    pub(crate) fn row(&self, time: Duration) -> String {
        let Self {
            crates,
            tests,
            natively,
            passing,
            failing,
        } = self;
        format!(
            "{:<25} {:<8} {tests:>5}  {natively:>8}  {passing:>7}  {failing:>7}  {:>10}  {:>7.1}",
            "all",
            crates,
            natively - passing - failing,
            time.as_secs_f64(),
        )
    }
}
