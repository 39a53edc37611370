//! `cargo clients`: checks queues, channels, maps and sets of published crates for linearizability,
//! with the real tool.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use clap::Parser;
use end_to_end::{Workspace, source_of};
use serde::Deserialize;
use serde_json::Value;

/// Explores the tests in fixtures/clients, each of which is a constructor of a published crate with a
/// few operations, and prints the results with the explanations of the failures.
///
/// The exit code is 1 if a failure is not in fixtures/clients/explained.toml, or if a test passes
/// that is.
#[derive(Parser)]
#[command(name = "cargo clients", bin_name = "cargo clients")]
struct Args {
    /// Only tests whose name contains one of these.
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
}

const HEADER: &str =
    "test                                verdict  kind   schedules  seconds  judgement";

/// The list of failures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    failure: Vec<Failure>,
}

/// A failure of some tests, and its explanation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    tests: Vec<String>,
    kind: String,
    of: Judgement,
    why: String,
}

/// The judgement on a failure, by the source and the documentation of the crate.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Judgement {
    /// A defect of the crate.
    Crate,
    /// The documentation says so.
    Documented,
    /// There is none yet.
    Open,
}

impl Judgement {
    fn words(self) -> &'static str {
        match self {
            Self::Crate => "a defect",
            Self::Documented => "documented",
            Self::Open => "not judged yet",
        }
    }
}

impl Explained {
    fn read() -> Self {
        let path = source_of("clients").join("explained.toml");
        let text = fs::read_to_string(&path).expect("the fixture explains its failures");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn of(&self, test: &str) -> Option<&Failure> {
        let mut failures = self.failure.iter();
        failures.find(|failure| failure.tests.iter().any(|it| it == test))
    }
}

/// The verdicts, by the names of their binaries and tests.
fn verdicts(args: &Args) -> BTreeMap<String, Value> {
    let workspace = Workspace::shared("clients");
    let tests: Vec<&str> = args.tests.iter().map(String::as_str).collect();
    let flags = [
        "test",
        "--locked",
        "--no-fail-fast",
        "--message-format=json",
    ];
    let run = workspace.chess(&[&flags[..], &tests].concat()).run();
    assert!(matches!(run.code, Some(0 | 100)), "{run:?}");
    let name = |verdict: &Value| {
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        let binary = text("binary");
        let binary = binary.strip_prefix("clients::").unwrap_or(&binary);
        format!("{binary}::{}", text("test"))
    };
    let verdicts = run.verdicts().into_iter();
    verdicts.map(|verdict| (name(&verdict), verdict)).collect()
}

/// The problem with a verdict, if it is not the expected one.
fn problem(test: &str, verdict: &Value, failure: Option<&Failure>) -> Option<String> {
    let kind = verdict["kind"].as_str();
    match (kind, failure) {
        (Some(kind), None) => Some(format!("{test}: {kind}, which is not explained")),
        (Some(kind), Some(failure)) if kind != failure.kind => {
            Some(format!("{test}: {kind} instead of {}", failure.kind))
        }
        (None, Some(_)) => Some(format!("{test}: passes, although a failure is explained")),
        _ => None,
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let explained = Explained::read();
    let verdicts = verdicts(&args);
    println!("{HEADER}");
    let mut problems = Vec::new();
    for (test, verdict) in &verdicts {
        let failure = explained.of(test);
        let millis = verdict["duration_ms"].as_u64().unwrap_or_default();
        println!(
            "{:<35} {:<8} {:<6} {:>9}  {:>4}.{:02}  {}",
            test,
            verdict["outcome"].as_str().unwrap_or("none"),
            verdict["kind"].as_str().unwrap_or("-"),
            verdict["schedules"].as_u64().unwrap_or_default(),
            millis / 1000,
            millis % 1000 / 10,
            failure.map_or("", |failure| failure.of.words()),
        );
        problems.extend(problem(test, verdict, failure));
    }
    println!("\nFailures that are explained:");
    for failure in &explained.failure {
        if failure.tests.iter().any(|test| verdicts.contains_key(test)) {
            let (tests, of) = (failure.tests.join(", "), failure.of.words());
            println!("- {tests} ({of}): {}", failure.why);
        }
    }
    for problem in &problems {
        println!("not as expected: {problem}");
    }
    if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
