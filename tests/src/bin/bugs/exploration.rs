//! The verdicts of the real tool on the tests of one entry.

use end_to_end::catalogue::{Bug, Found};
use end_to_end::{Chess, Workspace};
use serde_json::Value;

/// The bound that the search of a passing test must complete.
const BOUND: u64 = 2;

/// The verdicts on one entry.
pub(crate) struct Exploration {
    pub(crate) entry: String,
    pub(crate) verdicts: Vec<Value>,
    /// The whole output of the tool, if the output has no verdict.
    failure: Option<String>,
}

impl Exploration {
    /// Explores the tests of the package in `entry`, a directory of `workspace`. Each test has at
    /// most `schedules` schedules. If `schedules` is `None`, the default settings limit them.
    pub(crate) fn of(workspace: &Workspace, entry: &str, schedules: Option<u64>) -> Self {
        let args = ["chess", "test", "--locked", "--no-fail-fast"];
        let limit = schedules.map(|schedules| format!("--schedules={schedules}"));
        let mut command = Chess::new(&workspace.root().join(entry), &args)
            .arg("--message-format=json")
            // More debug information would take a quarter of the time of the builds.
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            .arg("--target-dir")
            .arg(workspace.root().join("target"));
        if let Some(limit) = limit {
            command = command.arg(limit);
        }
        let run = command.run();
        let verdicts = run.verdicts();
        Self {
            entry: entry.to_owned(),
            failure: verdicts.is_empty().then(|| format!("{run:?}")),
            verdicts,
        }
    }

    /// Returns the verdict of the first test that failed, or `None` if no test failed.
    pub(crate) fn failed(&self) -> Option<&Value> {
        self.verdicts
            .iter()
            .find(|verdict| verdict["outcome"] == "failed")
    }

    /// Returns the sum of `field` over all tests.
    pub(crate) fn sum(&self, field: &str) -> u64 {
        let values = self.verdicts.iter().map(|verdict| verdict[field].as_u64());
        values.map(Option::unwrap_or_default).sum()
    }

    /// Returns `passed` if all tests passed, `no verdict` if there is no verdict, or else the
    /// outcome of a test that did not pass.
    pub(crate) fn outcome(&self) -> &str {
        let outcomes = self.verdicts.iter().map(|verdict| &verdict["outcome"]);
        let worst = outcomes.max_by_key(|outcome| *outcome != "passed");
        worst.and_then(Value::as_str).unwrap_or("no verdict")
    }

    /// Returns a description of each difference of the verdicts from the expected failure of
    /// `bug`.
    pub(crate) fn differences_from_bug(&self, bug: &Bug) -> Vec<String> {
        self.differences(self.failed(), &bug.kind, bug.preemptions)
    }

    /// Returns the verdict of the test called `test`.
    pub(crate) fn verdict_of(&self, test: &str) -> Option<&Value> {
        let mut verdicts = self.verdicts.iter();
        verdicts.find(|verdict| verdict["test"] == test)
    }

    /// Returns a description of each difference of the verdicts from the expected failure of the
    /// test of `found`.
    pub(crate) fn differences_from_found(&self, found: &Found) -> Vec<String> {
        let verdict = self.verdict_of(&found.test);
        let failed = verdict.filter(|verdict| verdict["outcome"] == "failed");
        self.differences(failed, &found.kind, found.preemptions)
    }

    fn differences(&self, failed: Option<&Value>, kind: &str, preemptions: u64) -> Vec<String> {
        let Some(failed) = failed else {
            return vec![self.describe("the bug is not found")];
        };
        let mut differences = Vec::new();
        if failed["kind"] != kind {
            let what = format!("{} instead of {kind:?}", failed["kind"]);
            differences.push(self.describe(&what));
        }
        let found = &failed["preemptions"];
        if found.as_u64().is_none_or(|found| found > preemptions) {
            let what = format!("{found} preemptions instead of {preemptions}");
            differences.push(self.describe(&what));
        }
        differences
    }

    /// Returns a description of each difference of the verdicts from those of tests without a bug:
    /// all tests pass, and each search is complete or completes the bound.
    pub(crate) fn differences_from_clean(&self) -> Vec<String> {
        let is_finished = |verdict: &Value| {
            let bound = verdict["bound_completed"].as_u64();
            verdict["complete"] == true || bound.is_some_and(|bound| bound >= BOUND)
        };
        if self.verdicts.is_empty() {
            return vec![self.describe("no test was explored")];
        }
        let wrong = self
            .verdicts
            .iter()
            .filter(|verdict| verdict["outcome"] != "passed" || !is_finished(verdict));
        wrong
            .map(|verdict| self.describe(&format!("not finished without a failure: {verdict}")))
            .collect()
    }

    fn describe(&self, what: &str) -> String {
        let failure = self.failure.as_deref().unwrap_or_default();
        format!("{}: {what} {failure}", self.entry)
            .trim_end()
            .to_owned()
    }
}
