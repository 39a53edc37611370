//! The results of one suite. They are saved as a line of a file below target/, so that an
//! interrupted run can continue.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use end_to_end::published::{Explored, Native, Package};
use end_to_end::{Workspace, tool_revision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results of a suite. Except for `tests`, the counts include only tests that pass under `cargo
/// test`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The number of all tests except ignored ones.
    pub(crate) tests: usize,
    /// The number of tests that pass under `cargo test`.
    pub(crate) natively: usize,
    /// The time that plain `cargo test` took to run the tests.
    pub(crate) native: Duration,
    /// The time that building under control took.
    pub(crate) build: Duration,
    /// The time that exploring took.
    pub(crate) run: Duration,
    /// The number of tests that passed and had more than one thread.
    pub(crate) passed: usize,
    /// The number of tests that fail only with an early timeout.
    pub(crate) timing: usize,
    /// The number of tests that passed and had only one thread: there was nothing to explore.
    pub(crate) one_thread: usize,
    /// The failures that the tool found.
    pub(crate) failures: Vec<Failure>,
    /// The tests without a verdict, with the reason.
    pub(crate) unknown: Vec<Failure>,
    /// The error of the build or of the tool, if there was one.
    pub(crate) broken: Option<String>,
}

/// A test that does not pass, with the text of its verdict.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The binary and the path of the test.
    pub(crate) test: String,
    /// The kind of failure, or the outcome if there is no kind.
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) schedules: u64,
    pub(crate) preemptions: Option<u64>,
}

impl Row {
    /// Returns an empty row for `package`.
    pub(crate) fn of(package: &Package) -> Self {
        Self {
            name: package.name.clone(),
            version: package.version.clone(),
            ..Self::default()
        }
    }

    /// Fills in the results of `cargo test` and of the tool.
    pub(crate) fn fill(&mut self, native: &Native, explored: &Explored) {
        self.tests = native.tests.len();
        self.natively = native.passed().count();
        self.native = native.run;
        self.build = explored.build;
        self.run = explored.run;
        self.broken.clone_from(&explored.broken);
        for test in native.passed() {
            let name = format!("{} {}", test.0, test.1);
            let Some(verdict) = explored.verdicts.get(test) else {
                self.unknown.push(Failure::without_verdict(name));
                continue;
            };
            match verdict["outcome"].as_str() {
                Some("passed") if verdict["nothing_to_explore"] == true => self.one_thread += 1,
                Some("passed") => self.passed += 1,
                Some("timing") => self.timing += 1,
                Some("failed") => self.failures.push(Failure::new(name, verdict)),
                _ => self.unknown.push(Failure::new(name, verdict)),
            }
        }
    }
}

impl Failure {
    fn new(test: String, verdict: &Value) -> Self {
        let string = |field: &str| verdict[field].as_str().unwrap_or_default();
        let message = match string("message") {
            "" => verdict["warnings"].to_string(),
            message => message.to_owned(),
        };
        Self {
            test,
            kind: verdict["kind"]
                .as_str()
                .unwrap_or(string("outcome"))
                .to_owned(),
            message,
            schedules: verdict["schedules"].as_u64().unwrap_or_default(),
            preemptions: verdict["preemptions"].as_u64(),
        }
    }

    fn without_verdict(test: String) -> Self {
        Self {
            test,
            kind: "none".to_owned(),
            message: "the tool says nothing of it".to_owned(),
            schedules: 0,
            preemptions: None,
        }
    }
}

/// The saved rows of one build of the tool and one set of arguments.
pub(crate) struct Rows {
    file: PathBuf,
    /// The first line of the file, which identifies the tool and the arguments.
    heading: String,
    of: BTreeMap<(String, String), Row>,
}

impl Rows {
    /// Reads the saved rows of this tool with the arguments `more`.
    pub(crate) fn read(more: &[String]) -> Self {
        let file = Workspace::shared("corpus").beside("suites.tsv");
        Self::of(file, format!("{}\t{}", tool_revision(), more.join(" ")))
    }

    /// Reads the rows of `file`. Returns no rows if the first line of the file is not `heading`.
    pub(crate) fn of(file: PathBuf, heading: String) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut rows = Self {
            file,
            heading,
            of: BTreeMap::new(),
        };
        let mut lines = text.lines();
        if lines.next() == Some(&*rows.heading) {
            rows.of.extend(lines.filter_map(parse));
        }
        rows
    }

    /// Returns the saved results of the suite of `row`.
    pub(crate) fn get(&self, row: &Row) -> Option<&Row> {
        self.of.get(&key(row))
    }

    /// Saves `row`, in place of an older row of the same suite.
    pub(crate) fn keep(&mut self, row: Row) {
        self.of.insert(key(&row), row);
        let mut text = self.heading.clone();
        for row in self.of.values() {
            let all = serde_json::to_string(row).expect("a row can be written");
            write!(text, "\n{}\t{}\t{all}", row.name, row.version)
                .expect("memory takes every byte");
        }
        text.push('\n');
        // The file is replaced atomically: an interrupted run leaves the old one.
        let new = self.file.with_extension("new");
        fs::write(&new, text).expect("the file can be written");
        fs::rename(new, &self.file).expect("it can be moved in one directory");
    }
}

fn key(row: &Row) -> (String, String) {
    (row.name.clone(), row.version.clone())
}

fn parse(line: &str) -> Option<((String, String), Row)> {
    let (_, json) = line.rsplit_once('\t')?;
    let row: Row = serde_json::from_str(json).ok()?;
    Some((key(&row), row))
}
