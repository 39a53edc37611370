//! What came of one suite: a line of a file below target/, kept so that an interrupted run goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use end_to_end::Workspace;
use end_to_end::published::{Explored, Native, Package};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results of a suite. The tests counted are those that pass under `cargo test`, `tests` aside.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) version: String,
    /// All tests but ignored ones.
    pub(crate) tests: usize,
    /// Those that pass under `cargo test`.
    pub(crate) natively: usize,
    /// How long plain `cargo test` took to run them.
    pub(crate) native: Duration,
    /// How long building under control took.
    pub(crate) build: Duration,
    /// How long exploring took.
    pub(crate) run: Duration,
    /// Explored, and no failure found.
    pub(crate) passed: usize,
    /// Those that fail only where time passes early.
    pub(crate) timing: usize,
    /// Passed in one thread: there was nothing to explore.
    pub(crate) one_thread: usize,
    /// What was found in those that failed.
    pub(crate) failures: Vec<Failure>,
    /// Those of which nothing is known, and why.
    pub(crate) unknown: Vec<Failure>,
    /// How the build or the tool ended, unless as it should.
    pub(crate) broken: Option<String>,
}

/// A test that does not pass, and what is said of it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// Its binary and its path.
    pub(crate) test: String,
    /// The kind of failure, or the outcome where there is none.
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) schedules: u64,
    pub(crate) preemptions: Option<u64>,
}

impl Row {
    pub(crate) fn new(package: &Package, native: &Native, explored: &Explored) -> Self {
        let mut row = Self {
            tests: native.tests.len(),
            natively: native.passed().count(),
            native: native.run,
            build: explored.build,
            run: explored.run,
            broken: explored.broken.clone(),
            ..Self::of(package)
        };
        for test in native.passed() {
            let name = format!("{} {}", test.0, test.1);
            let Some(verdict) = explored.verdicts.get(test) else {
                row.unknown.push(Failure::without_verdict(name));
                continue;
            };
            match verdict["outcome"].as_str() {
                Some("passed") if verdict["nothing_to_explore"] == true => row.one_thread += 1,
                Some("passed") => row.passed += 1,
                Some("timing") => row.timing += 1,
                Some("failed") => row.failures.push(Failure::new(name, verdict)),
                _ => row.unknown.push(Failure::new(name, verdict)),
            }
        }
        row
    }

    /// That of a package whose tests do not build under plain `cargo test`.
    pub(crate) fn not_built(package: &Package) -> Self {
        Self {
            broken: Some("does not build under cargo test".to_owned()),
            ..Self::of(package)
        }
    }

    fn of(package: &Package) -> Self {
        Self {
            name: package.name.clone(),
            version: package.version.clone(),
            ..Self::default()
        }
    }
}

impl Failure {
    fn new(test: String, verdict: &Value) -> Self {
        let text = |field: &str| verdict[field].as_str().unwrap_or_default();
        let message = match text("message") {
            "" => verdict["warnings"].to_string(),
            message => message.to_owned(),
        };
        Self {
            test,
            kind: verdict["kind"]
                .as_str()
                .unwrap_or(text("outcome"))
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

/// The rows of one tool and one set of arguments.
pub(crate) struct Rows {
    file: PathBuf,
    /// The first line of the file: what the rows are of.
    heading: String,
    rows: BTreeMap<(String, String), Row>,
}

impl Rows {
    /// Those that are kept for this tool with the arguments `more`.
    pub(crate) fn read(more: &[String]) -> Self {
        let file = Workspace::shared("corpus").beside("suites.tsv");
        let heading = format!("{}\t{}", end_to_end::tool_revision(), more.join(" "));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut rows = Self {
            file,
            heading,
            rows: BTreeMap::new(),
        };
        if let Some(lines) = text.strip_prefix(&*rows.heading) {
            for row in lines.lines().filter_map(parse) {
                rows.rows.insert(key(&row), row);
            }
        }
        rows
    }

    pub(crate) fn get(&self, package: &Package) -> Option<&Row> {
        self.rows
            .get(&(package.name.clone(), package.version.clone()))
    }

    /// Keeps `row` in the place of an older one.
    pub(crate) fn keep(&mut self, row: Row) {
        self.rows.insert(key(&row), row);
        let mut text = self.heading.clone();
        for row in self.rows.values() {
            let all = serde_json::to_string(row).expect("a row can be written");
            text += &format!("\n{}\t{}\t{all}", row.name, row.version);
        }
        text.push('\n');
        // In one step: an interrupted run leaves the old ones.
        let new = self.file.with_extension("new");
        fs::write(&new, text).expect("the file can be written");
        fs::rename(new, &self.file).expect("it can be moved in one directory");
    }
}

fn key(row: &Row) -> (String, String) {
    (row.name.clone(), row.version.clone())
}

fn parse(line: &str) -> Option<Row> {
    let (_, json) = line.rsplit_once('\t')?;
    serde_json::from_str(json).ok()
}
