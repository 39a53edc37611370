//! What plain `cargo test` says of each test, kept in a file beside the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Chess, Workspace};
use serde_json::Value;

use crate::sources::{Package, beside};

/// No build takes so long.
const PATIENCE_TO_BUILD: Duration = Duration::from_mins(30);

/// How long the tests of one binary may take; those not done by then have no verdict.
const PATIENCE_TO_RUN: Duration = Duration::from_mins(5);

/// A test as the tool names it: its binary and its path.
pub(crate) type Test = (String, String);

/// The tests of a package, `ignored` ones aside.
pub(crate) struct Native {
    /// Whether each passes.
    pub(crate) tests: BTreeMap<Test, bool>,
}

/// A test binary.
struct Binary {
    /// Its name in the tool's reports.
    id: String,
    /// The argument of cargo that selects it alone.
    selection: String,
}

impl Native {
    /// The results of a first, and kept, run of the package's tests; what cargo
    /// says where they cannot be built.
    pub(crate) fn of(package: &Package, workspace: &Workspace) -> Result<Self, String> {
        let kept = beside(workspace, "native");
        let text = match fs::read_to_string(&kept) {
            Ok(text) => text,
            Err(_) => run_all(package, workspace)?,
        };
        fs::write(&kept, &text).expect("the file can be written");
        let parse = |line: &str| {
            let (result, name) = line.split_once(' ')?;
            let (binary, path) = name.split_once(' ')?;
            Some(((binary.to_owned(), path.to_owned()), result == "ok"))
        };
        Ok(Self {
            tests: text.lines().filter_map(parse).collect(),
        })
    }

    pub(crate) fn passed(&self) -> impl Iterator<Item = &Test> {
        self.tests
            .iter()
            .filter(|(_, passed)| **passed)
            .map(|(test, _)| test)
    }
}

/// A line for each test: its result, its binary, its path.
fn run_all(package: &Package, workspace: &Workspace) -> Result<String, String> {
    let root = workspace.root();
    let features = package.features.join(",");
    let log = beside(workspace, "log");
    let mut lines = Vec::new();
    for binary in binaries(package, root)? {
        let _none_yet = fs::remove_file(&log);
        let args = [
            "test",
            &binary.selection,
            "--features",
            &features,
            "--no-fail-fast",
        ];
        Chess::cargo(root, &args)
            .arg("--")
            .arg("--logfile")
            .arg(&log)
            .start()
            .finish_or_kill(PATIENCE_TO_RUN);
        // A binary with a harness of its own writes none.
        let results = fs::read_to_string(&log).unwrap_or_default();
        for line in results.lines() {
            let Some((result @ ("ok" | "failed"), path)) = line.split_once(' ') else {
                continue;
            };
            lines.push(format!("{result} {} {path}", binary.id));
        }
    }
    lines.sort();
    Ok(lines.join("\n"))
}

/// Builds the tests; their binaries in the order of their names.
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
