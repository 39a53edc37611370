//! `cargo clients`: explores small tests of published crates that synchronize, with the real tool.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use end_to_end::Workspace;
use end_to_end::catalogue::{Explained, Explored, Failure, Passed};
use serde_json::Value;

/// Explores the tests in fixtures/clients, and prints the results with the explanations of the
/// failures. Each test uses a type of a published crate in two or three threads.
///
/// The exit code is 1 if a failure is not in fixtures/clients/explained.toml, if a test in this
/// file passes, or if the coverage of a passing test is not the one in
/// fixtures/clients/passed.toml.
#[derive(Parser)]
#[command(name = "cargo clients", bin_name = "cargo clients")]
struct Args {
    /// Write the coverage of the tests that pass into fixtures/clients/passed.toml. With names,
    /// only the coverage of these tests is changed.
    #[arg(long)]
    record: bool,
    /// Only tests whose name contains one of these.
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
}

const HEADER: &str = "test                                                         verdict  kind     schedules  seconds  judgement";

/// The limit of the whole run, the first build of the crates included.
const PATIENCE: Duration = Duration::from_hours(1);

/// Explores the tests, and returns the verdicts by the names of the binaries and tests.
fn verdicts(args: &Args) -> BTreeMap<String, Value> {
    let workspace = Workspace::shared("clients");
    let tests: Vec<&str> = args.tests.iter().map(String::as_str).collect();
    let flags = [
        "test",
        "--locked",
        "--no-fail-fast",
        "--message-format=json",
    ];
    let run = workspace.chess(&[&flags[..], &tests].concat());
    let run = run.start().finish(PATIENCE);
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

/// Returns the problem with a verdict, if the verdict is not the expected one. `failure` is the
/// expected failure of the test, if there is one.
fn problem(test: &str, verdict: &Value, failure: Option<&Failure>) -> Option<String> {
    let kind = verdict["kind"].as_str();
    match (kind, failure) {
        (Some(kind), None) => Some(format!("{test}: {kind}, which is not explained")),
        (Some(kind), Some(failure)) if kind != failure.kind => {
            Some(format!("{test}: {kind} instead of {}", failure.kind))
        }
        (None, Some(_)) => Some(format!("{test}: passes, although a failure is explained")),
        (None, None) if verdict["outcome"] != "passed" => {
            Some(format!("{test}: {}, without a failure", verdict["outcome"]))
        }
        _ => None,
    }
}

/// Returns the tests that passed, with their coverage.
fn passed(verdicts: &BTreeMap<String, Value>) -> Passed {
    let passed = verdicts.iter().filter(|(_, it)| it["outcome"] == "passed");
    let passed = passed.map(|(test, verdict)| {
        let coverage = verdict["coverage"].as_str().unwrap_or_default();
        let explored = Explored {
            coverage: coverage.to_owned(),
            schedules: verdict["schedules"].as_u64().unwrap_or_default(),
        };
        (test.clone(), explored)
    });
    Passed(passed.collect())
}

/// Returns a description of each test whose coverage differs from the recorded coverage.
fn changes(passed: &Passed, recorded: &Passed) -> Vec<String> {
    let changed = passed.0.iter().filter_map(|(test, explored)| {
        let coverage = &explored.coverage;
        let before = recorded.0.get(test).map_or("none", |it| &it.coverage);
        let differs = before != coverage;
        differs.then(|| format!("{test}: coverage {coverage:?} instead of {before:?}"))
    });
    changed.collect()
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
            "{:<60} {:<8} {:<8} {:>9}  {:>4}.{:02}  {}",
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
    let (passed, mut recorded) = (passed(&verdicts), Passed::read());
    if args.record {
        let is_explored = |test: &String| args.tests.is_empty() || verdicts.contains_key(test);
        recorded.0.retain(|test, _| !is_explored(test));
        recorded.0.extend(passed.0);
        recorded.write();
    } else {
        problems.extend(changes(&passed, &recorded));
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
