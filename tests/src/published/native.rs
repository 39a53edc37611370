//! The result of each test under plain `cargo test`. The results are kept in a file next to the
//! workspace.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::sources::Package;
use crate::{Chess, Workspace};

/// The time limit of a build.
const PATIENCE_TO_BUILD: Duration = Duration::from_mins(30);

/// The time limit for the tests of one binary. Tests that have not ended by then have no result.
const PATIENCE_TO_RUN: Duration = Duration::from_mins(5);

/// A test, by the names in the tool's reports: its binary and its path.
pub type Test = (String, String);

/// The results of the tests of a package, except tests that are `ignored`.
pub struct Native {
    /// Whether each test passes.
    pub tests: BTreeMap<Test, bool>,
    /// The time for building the tests.
    pub build: Duration,
    /// The time for running the tests.
    pub run: Duration,
}

/// A test binary.
struct Binary {
    /// The name in the tool's reports.
    id: String,
    /// The argument of cargo that selects only this binary.
    selection: String,
}

impl Native {
    /// Returns the results of the package's tests. The first call runs the tests, and keeps the
    /// results for later calls.
    ///
    /// # Errors
    ///
    /// The output of cargo if the tests cannot be built.
    ///
    /// # Panics
    ///
    /// If the results cannot be written.
    pub fn of(package: &Package, workspace: &Workspace) -> Result<Self, String> {
        let kept = workspace.beside("native.tsv");
        let known = fs::read_to_string(&kept).ok();
        if let Some(native) = known.and_then(|text| Self::parse(&text)) {
            return Ok(native);
        }
        let native = Self::run(package, workspace)?;
        fs::write(&kept, native.print()).expect("the file can be written");
        Ok(native)
    }

    /// Returns the tests that pass.
    pub fn passed(&self) -> impl Iterator<Item = &Test> {
        self.tests
            .iter()
            .filter(|(_, passed)| **passed)
            .map(|(test, _)| test)
    }

    fn run(package: &Package, workspace: &Workspace) -> Result<Self, String> {
        let started = Instant::now();
        let binaries = binaries(package, workspace.root())?;
        let build = started.elapsed();
        let started = Instant::now();
        let mut tests = BTreeMap::new();
        for binary in binaries {
            tests.extend(run_all(package, workspace, &binary));
        }
        Ok(Self {
            tests,
            build,
            run: started.elapsed(),
        })
    }

    /// Returns a line with the times, and a line for each test: its result, its binary, its path.
    fn print(&self) -> String {
        let [build, run] = [self.build, self.run].map(|time| time.as_millis());
        let mut text = format!("{build}\t{run}\n");
        for ((binary, path), passed) in &self.tests {
            let result = if *passed { "ok" } else { "failed" };
            writeln!(text, "{result}\t{binary}\t{path}").expect("memory takes every byte");
        }
        text
    }

    /// Parses the text of [`Self::print`]. Returns `None` for any other text.
    fn parse(text: &str) -> Option<Self> {
        let (times, rest) = text.split_once('\n')?;
        let (build, run) = times.split_once('\t')?;
        let milliseconds = |text: &str| text.parse().ok().map(Duration::from_millis);
        let parse = |line: &str| {
            let (result, name) = line.split_once('\t')?;
            let (binary, path) = name.split_once('\t')?;
            Some(((binary.to_owned(), path.to_owned()), result == "ok"))
        };
        Some(Self {
            tests: rest.lines().map(parse).collect::<Option<_>>()?,
            build: milliseconds(build)?,
            run: milliseconds(run)?,
        })
    }
}

/// Runs the tests of `binary`, and returns whether each passes.
fn run_all(package: &Package, workspace: &Workspace, binary: &Binary) -> Vec<(Test, bool)> {
    let log = workspace.beside("log");
    let _none_yet = fs::remove_file(&log);
    let features = package.features.join(",");
    let args = [
        "test",
        &binary.selection,
        "--features",
        &features,
        "--no-fail-fast",
    ];
    Chess::cargo(workspace.root(), &args)
        .arg("--")
        .arg("--logfile")
        .arg(&log)
        .start()
        .finish_or_kill(PATIENCE_TO_RUN);
    // A binary with its own test harness writes no log.
    let results = fs::read_to_string(&log).unwrap_or_default();
    let parse = |line: &str| match line.split_once(' ') {
        Some((result @ ("ok" | "failed"), path)) => {
            Some(((binary.id.clone(), path.to_owned()), result == "ok"))
        }
        _ => None,
    };
    results.lines().filter_map(parse).collect()
}

/// Builds the tests, and returns the binaries in the order of their names.
fn binaries(package: &Package, root: &Path) -> Result<Vec<Binary>, String> {
    let mut build = Chess::cargo(root, &["test", "--no-run", "--message-format=json"]);
    for arg in package.selection() {
        build = build.arg(arg);
    }
    let run = build.start().finish_or_kill(PATIENCE_TO_BUILD);
    if run.code != Some(0) {
        return Err(run.stderr);
    }
    let messages = run.stdout.lines().map(serde_json::from_str::<Value>);
    let mut all: Vec<_> = messages
        .filter_map(Result::ok)
        .filter(|message| message["profile"]["test"] == true && message["executable"].is_string())
        .map(|artifact| Binary::new(&package.name, &artifact["target"]))
        .collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

impl Binary {
    fn new(package: &str, target: &Value) -> Self {
        let name = target["name"].as_str().unwrap_or_default();
        let (id, selection) = match target["kind"][0].as_str() {
            Some("test") => (format!("{package}::{name}"), format!("--test={name}")),
            Some("bin") => (format!("{package}::bin/{name}"), format!("--bin={name}")),
            _ => (package.to_owned(), "--lib".to_owned()),
        };
        Self { id, selection }
    }
}
