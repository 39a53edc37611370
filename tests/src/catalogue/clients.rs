//! The tests in fixtures/clients: the crate of each test, the constructor and the operations of
//! the structure that it checks, and the results of `cargo clients` in `explained.toml` and
//! `passed.toml`. The failures that were faults of the tool are in `false-alarms.toml`.

use std::collections::BTreeMap;
use std::fs;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::source_of;

/// The list of failures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explained {
    /// The failures, in the order of the file.
    pub failure: Vec<Failure>,
}

/// A failure of some tests, and its explanation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The tests, each as the name of its binary and its own name: `maps::insert`.
    pub tests: Vec<String>,
    /// The kind of the failure.
    pub kind: String,
    /// The judgement on the failure.
    pub of: Judgement,
    /// The reason, with file and line.
    pub why: String,
}

/// The judgement on a failure, by the source and the documentation of the crate.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// A defect of the crate.
    Crate,
    /// The documentation describes this behaviour.
    Documented,
    /// There is no judgement yet.
    Open,
}

impl Judgement {
    /// Returns the judgement in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Crate => "a defect",
            Self::Documented => "documented",
            Self::Open => "not judged yet",
        }
    }
}

impl Explained {
    /// Reads the file of the fixture.
    ///
    /// # Panics
    /// If the file is missing or has another form.
    pub fn read() -> Self {
        read("explained.toml")
    }

    /// Returns the failure of a test.
    pub fn of(&self, test: &str) -> Option<&Failure> {
        let mut failures = self.failure.iter();
        failures.find(|failure| failure.tests.iter().any(|it| it == test))
    }
}

/// The explorations of the tests that pass, by the names of the tests.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
pub struct Passed(pub BTreeMap<String, Explored>);

/// The extent of an exploration.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Explored {
    /// The coverage, as in JSON: `complete`, `preemptions<=2`, `delays<=1` or `sampled`.
    pub coverage: String,
    /// The number of schedules, samples included.
    pub schedules: u64,
}

impl Explored {
    /// Returns the coverage in words.
    pub(super) fn words(&self) -> String {
        match self.coverage.split_once("<=") {
            Some((what, "1")) => format!("up to 1 {}", what.trim_end_matches('s')),
            Some((what, bound)) => format!("up to {bound} {what}"),
            None => self.coverage.clone(),
        }
    }
}

impl Explored {
    /// Whether every schedule with up to two preemptions was run.
    pub(super) fn covers_two_preemptions(&self) -> bool {
        let bound = self.coverage.strip_prefix("preemptions<=");
        let bound = bound.and_then(|bound| bound.parse().ok());
        self.coverage == "complete" || bound.is_some_and(|bound: u32| bound >= 2)
    }
}

impl Passed {
    const FILE: &str = "passed.toml";

    /// Reads the file of the fixture.
    ///
    /// # Panics
    /// If the file is missing or has another form.
    pub fn read() -> Self {
        read(Self::FILE)
    }

    /// Writes the file of the fixture.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self) {
        let mut text = "\
            # The tests here that pass, each with the coverage and the number of schedules of its exploration.\n\
            # `cargo clients --record` writes this file, and `cargo clients` compares the coverage with its results.\n"
            .to_owned();
        text += &toml::to_string(self).expect("strings by strings");
        fs::write(source_of("clients").join(Self::FILE), text).expect("the file can be written");
    }
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let path = source_of("clients").join(file);
    let text = fs::read_to_string(&path).unwrap_or_default();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The failures that were faults of the tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FalseAlarms {
    /// The faults, in the order of the file.
    pub alarm: Vec<FalseAlarm>,
}

/// A failure that was a fault of the tool, and is no longer reported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FalseAlarm {
    /// The program: a crate or the shape of a test.
    pub program: String,
    /// The wrong report.
    pub report: String,
    /// The fault of the tool.
    pub cause: String,
    /// The test that fails if the fault returns: the path of its file from the root of the
    /// repository, and a name in this file.
    pub test: (String, String),
}

impl FalseAlarms {
    /// Reads the file of the fixture.
    ///
    /// # Panics
    /// If the file is missing or has another form.
    pub fn read() -> Self {
        read("false-alarms.toml")
    }
}

/// A structure: its crate with the version, its constructor, and its operations.
pub(super) struct Structure {
    pub(super) package: String,
    pub(super) constructor: String,
    pub(super) operations: Vec<String>,
}

/// Returns the crates on which the tests depend. The keys are the names of the crates in sources.
/// The values are the names of the packages with their versions.
fn versions() -> BTreeMap<String, String> {
    let manifest = fs::read_to_string(source_of("clients").join("Cargo.toml"));
    let manifest = manifest.expect("the fixture has a manifest");
    let versions = Regex::new(r#"(?m)^([\w-]+) = .*"=([\d.]+)""#).expect("a pattern");
    let versions = versions.captures_iter(&manifest);
    versions
        .map(|it| (it[1].replace('-', "_"), format!("{} {}", &it[1], &it[2])))
        .collect()
}

/// Returns the tests of each crate. The keys are the crates with their versions. If a test checks
/// a structure, its crate is the crate of the structure. Otherwise the crate is the one with the
/// name of the test's module.
///
/// # Panics
/// If the tests do not depend on a crate of this name.
pub fn tests_by_crate<'a>(
    tests: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, Vec<&'a String>> {
    let (versions, structures) = (versions(), structures());
    let mut by_crate: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for test in tests {
        let package = if let Some(structure) = structures.get(test) {
            &structure.package
        } else {
            let module = test.split("::").nth(1).unwrap_or_default();
            let package = versions.get(module);
            package.unwrap_or_else(|| panic!("no version of the crate of {test}"))
        };
        by_crate.entry(package.clone()).or_default().push(test);
    }
    by_crate
}

/// Returns the structures that tests check, by the names of the tests.
///
/// # Panics
/// If the sources of the tests are missing, or a structure belongs to an unknown crate.
pub(super) fn structures() -> BTreeMap<String, Structure> {
    let versions = versions();
    let whole = r"fn (\w+)\(\) \{\s+Linearizability::of\((?s)(.*?)\)\n(.*?)\.check\(\)";
    let whole = Regex::new(whole).expect("a pattern");
    let of_macro = Regex::new(r"(?m)^(map|set)!\(\n\s+(\w+),\n\s+(.*),$").expect("a pattern");
    let operation = Regex::new(r#"\.operation\("(\w+)""#).expect("a pattern");
    let structure = |constructor: &str, operations: Vec<String>| {
        let constructor = constructor.trim_start_matches("|| ").to_owned();
        let path = constructor.split("::").next().unwrap_or_default();
        let package = versions.get(path);
        let package = package.unwrap_or_else(|| panic!("no version of {path}"));
        Structure {
            package: package.clone(),
            constructor,
            operations,
        }
    };
    let mut structures = BTreeMap::new();
    for binary in ["maps", "queues"] {
        let source = source_of("clients").join(format!("tests/{binary}.rs"));
        let source = fs::read_to_string(source).expect("the tests are there");
        for test in whole.captures_iter(&source) {
            let operations = operation.captures_iter(&test[3]);
            let operations = operations.map(|it| it[1].to_owned()).collect();
            let name = format!("{binary}::{}", &test[1]);
            structures.insert(name, structure(&test[2], operations));
        }
        for test in of_macro.captures_iter(&source) {
            let last = if &test[1] == "map" { "get" } else { "contains" };
            let operations = ["insert", "remove", last].map(str::to_owned).to_vec();
            let name = format!("{binary}::{}", &test[2]);
            structures.insert(name, structure(&test[3], operations));
        }
    }
    structures
}
