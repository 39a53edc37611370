//! Executions of many operations are explored in bounded memory.

use std::time::Duration;

use end_to_end::Workspace;

/// The size of Singularity's boot under CHESS.
const OPERATIONS: u64 = 170_000;
const SCHEDULES: u64 = 20;
const GIBIBYTE: u64 = 1 << 30;

/// Explores the longest test of `fixtures/benchmarks/long` with a strategy.
fn explore(strategy: &str) {
    let workspace = Workspace::shared("benchmarks");
    let fixed = [
        "chess",
        "test",
        "-q",
        "-p",
        "long",
        "--message-format",
        "json",
    ];
    let search = ["--exact", "operations_170_000", "--preemptions", "1"];
    let limits = [
        "--max-steps",
        "1000000",
        "--schedules",
        "20",
        "--strategy",
        strategy,
    ];
    let call = || workspace.chess(&[&fixed[..], &search, &limits].concat());
    // Building is no part of it.
    call().run().assert_code(0);
    let mut process = call().start();
    let peak = process.peak_memory();
    let run = process.finish(Duration::from_mins(5));
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["schedules"], SCHEDULES, "{verdict}");
    let steps = verdict["steps"].as_u64().expect("a number");
    assert!(steps >= OPERATIONS * SCHEDULES, "{verdict}");
    if strategy == "icb" {
        assert_eq!(verdict["bound_completed"], 0, "{verdict}");
    }
    assert!(peak > 0 && peak < GIBIBYTE, "{peak} bytes");
}

#[test]
fn long_executions_are_explored_within_a_bound_in_less_than_a_gibibyte() {
    explore("icb");
}

#[test]
fn long_executions_are_explored_without_a_bound_in_less_than_a_gibibyte() {
    explore("dpor");
}
