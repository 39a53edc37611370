//! The expected results of a fixture, from its `expected.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::Run;

/// The bound that the search of a passing test must complete, unless its table states another one.
const DEFAULT_BOUND: u64 = 2;

/// A whole `expected.toml`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The tables of all tests.
    pub test: Vec<ExpectedTest>,
}

/// The expected result of one test.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTest {
    /// The binary of the test.
    pub binary: String,
    /// The path of the test.
    pub test: String,
    /// `passed`, `failed`, `timing`, `skipped` or `timeout`.
    pub outcome: String,
    /// The kind of failure.
    pub kind: Option<String>,
    /// The fewest preemptions of a failing schedule.
    pub preemptions: Option<u64>,
    /// A part of the message.
    pub message: Option<String>,
    /// The bound that a passing test must complete, if it is not the default (2).
    pub bound_completed: Option<u64>,
    /// The exact number of schedules. Not checked if it is missing.
    pub schedules: Option<u64>,
    /// `false` if the search of a passing test must not be complete. Then no bound is checked.
    pub complete: Option<bool>,
    /// Whether the check of the completed bound is left out.
    #[serde(default)]
    pub unfinished: bool,
    /// The reason why CI does not explore the test: only `cargo league` does.
    pub league: Option<String>,
    /// A text that each warning of a passing test must contain. If it is missing, a passing test
    /// must have no warnings.
    pub warning: Option<String>,
    /// A sentence about operations outside control that the report must contain.
    pub outside: Option<String>,
    /// The behaviour under plain `cargo test`, as a note for readers.
    pub native: Option<String>,
}

impl Expected {
    /// Reads the expected results of the workspace at `root`.
    pub fn of(root: &Path) -> Self {
        let path = root.join("expected.toml");
        let text = fs::read_to_string(&path).expect("a fixture says what is expected");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the paths of the tests that CI does not explore.
    pub fn of_the_league(&self) -> impl Iterator<Item = &str> {
        let tests = self.test.iter().filter(|test| test.league.is_some());
        tests.map(|test| &*test.test)
    }

    /// Panics with all differences, unless `run` has the expected verdict for each expected test,
    /// and no other verdicts. Tests that only `cargo league` explores are not checked.
    #[track_caller]
    pub fn assert_met_by(&self, run: &Run) {
        let verdicts = run.verdicts();
        let name = |verdict: &Value| {
            (
                text(&verdict["binary"]).to_owned(),
                text(&verdict["test"]).to_owned(),
            )
        };
        let mut differences = Vec::new();
        let mut known = BTreeSet::new();
        for expected in self.test.iter().filter(|test| test.league.is_none()) {
            let id = (expected.binary.clone(), expected.test.clone());
            let found: Vec<_> = verdicts
                .iter()
                .filter(|verdict| name(verdict) == id)
                .collect();
            match &*found {
                [verdict] => differences.extend(expected.differences(verdict)),
                found => differences.push(format!("{expected}: {} verdicts", found.len())),
            }
            known.insert(id);
        }
        let unexpected = verdicts.iter().map(name).filter(|id| !known.contains(id));
        differences
            .extend(unexpected.map(|(binary, test)| format!("{binary} {test}: not expected")));
        assert!(
            differences.is_empty(),
            "{} of {} tests differ:\n{}\n--- stderr\n{}",
            differences.len(),
            self.test.len(),
            differences.join("\n"),
            run.stderr,
        );
    }
}

impl std::fmt::Display for ExpectedTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.binary, self.test)
    }
}

impl ExpectedTest {
    /// Returns all differences of `verdict` from the expected result, in one line, or `None` if
    /// there are none.
    fn differences(&self, verdict: &Value) -> Option<String> {
        let mut wrong = Vec::new();
        let mut compare = |field: &str, expected: Value| {
            if verdict[field] != expected {
                wrong.push(format!("{field} {} instead of {expected}", verdict[field]));
            }
        };
        compare("outcome", self.outcome.as_str().into());
        compare("kind", self.kind.as_deref().into());
        compare("preemptions", self.preemptions.into());
        if let Some(schedules) = self.schedules {
            compare("schedules", schedules.into());
        }
        match self.outcome.as_str() {
            "passed" if self.complete == Some(false) => compare("complete", false.into()),
            "passed" if verdict["complete"] == true || self.unfinished => {}
            "passed" => {
                let bound = self.bound_completed.unwrap_or(DEFAULT_BOUND);
                compare("bound_completed", bound.into());
            }
            // The search must have completed every bound below the bound of the failure.
            "failed" | "timing" if !self.unfinished => {
                let below = self
                    .preemptions
                    .and_then(|preemptions| preemptions.checked_sub(1));
                // Schedules with early timeouts are explored after all other schedules.
                let others = verdict.get("timers_last").filter(|last| !last.is_null());
                let found = match others {
                    Some(others) if self.outcome == "failed" => others,
                    _ => verdict,
                };
                let bound = &found["bound_completed"];
                // If a sampling search found the failure, the minimisation has proved the bound
                // afterwards.
                let is_shown = verdict["minimised"]["fewest_preemptions"] == true;
                if !is_shown && *bound != Value::from(below) {
                    wrong.push(format!("bound_completed {bound} instead of {below:?}"));
                }
            }
            _ => {}
        }
        let message = text(&verdict["message"]);
        if let Some(part) = self
            .message
            .as_deref()
            .filter(|part| !message.contains(part))
        {
            wrong.push(format!("message {message:?} without {part:?}"));
        }
        if let Some(sentence) = &self.outside {
            let effects = verdict["outside"].as_array().map_or(&[][..], |all| all);
            if !effects.iter().any(|one| text(one) == sentence) {
                wrong.push(format!("outside {}", verdict["outside"]));
            }
        }
        let is_expected = |warning: &Value| {
            self.warning
                .as_ref()
                .is_some_and(|part| text(warning).contains(part))
        };
        let warnings = verdict["warnings"].as_array().map_or(&[][..], |all| all);
        let as_expected =
            warnings.iter().all(is_expected) && warnings.is_empty() == self.warning.is_none();
        if self.outcome == "passed" && !as_expected {
            wrong.push(format!("warnings {}", verdict["warnings"]));
        }
        (!wrong.is_empty()).then(|| format!("{self}: {} | {verdict}", wrong.join("; ")))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
