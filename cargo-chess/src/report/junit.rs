//! The reporter for services that read JUnit's XML. It writes a suite for each test binary.

use std::fs::File;
use std::io;
use std::time::Duration;

use camino::Utf8Path;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::early_timeouts;
use super::plain::Plain;
use super::reporter::{Reporter, new_file};
use crate::analysis::Detail;
use crate::error::Result;
use crate::events::{Event, Outcome, TestFinished};

/// Writes the report when the run ends, also if an error or an interrupt ends it.
pub(super) struct JUnit {
    file: File,
    suites: Vec<TestSuite>,
    plain: Plain,
}

impl JUnit {
    /// Creates the reporter, and an empty file at `path`.
    pub(super) fn create(path: &Utf8Path, plain: Plain) -> Result<Self> {
        let file = new_file(path)?;
        Ok(Self {
            file,
            suites: Vec::new(),
            plain,
        })
    }

    fn add(&mut self, test: &TestFinished, detail: Option<&Detail>) {
        let suites = &mut self.suites;
        let place = suites
            .iter()
            .position(|suite| suite.name.as_str() == test.binary)
            .unwrap_or_else(|| {
                suites.push(TestSuite::new(&test.binary));
                suites.len() - 1
            });
        let case = self.plain.case(test, detail);
        suites[place].add_test_case(case);
    }
}

impl Plain {
    fn case(&self, test: &TestFinished, detail: Option<&Detail>) -> TestCase {
        let mut status = match test.outcome {
            Outcome::Passed | Outcome::Timing => TestCaseStatus::success(),
            Outcome::Skipped => TestCaseStatus::skipped(),
            Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::Timeout => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        let message = test.message.as_ref();
        if let Some(message) = message.filter(|_| test.outcome != Outcome::Timing) {
            status.set_message(message.as_str());
        }
        if test.outcome.fails_run() {
            status.set_type(test.kind.map_or("timeout", |kind| kind.name()));
            if let Some(detail) = detail {
                status.set_description(self.failure(test, detail));
            }
        }
        let mut case = TestCase::new(&test.test, status);
        case.set_classname(&test.binary);
        case.set_time(Duration::from_millis(test.duration_ms));
        for (name, value) in [
            ("schedules", Some(test.counts.schedules.to_string())),
            ("coverage", Some(test.coverage.clone())),
            (
                "preemptions",
                test.counts.preemptions.map(|n| n.to_string()),
            ),
            ("schedule", test.schedule.clone()),
            ("timing", timing_of(test)),
        ] {
            case.add_properties(value.as_deref().map(|value| (name, value)));
        }
        if let Some(detail) = detail.filter(|detail| !detail.stderr.is_empty()) {
            case.set_system_err(&detail.stderr);
        }
        case
    }
}

/// The early timeouts that the failure of a test needs, if this failure does not make the run
/// fail.
fn timing_of(test: &TestFinished) -> Option<String> {
    let sentences = early_timeouts::needs(test);
    (test.outcome == Outcome::Timing).then(|| sentences.join("; "))
}

impl Reporter for JUnit {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        match event {
            Event::TestFinished(test) => self.add(test, detail),
            Event::RunFinished(run) => {
                let mut report = Report::new("cargo chess");
                report.set_time(Duration::from_millis(run.duration_ms));
                report.add_test_suites(std::mem::take(&mut self.suites));
                let written = report.serialize(&self.file);
                return written.map_err(io::Error::other);
            }
            Event::RunStarted(_) | Event::TestStarted(_) | Event::Progress(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn each_test_of_a_run_is_in_the_file() {
        let file = samples::reported(|root, path| JUnit::create(path, Plain::new(root)).unwrap());
        insta::assert_snapshot!(file);
    }
}
