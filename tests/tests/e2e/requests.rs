//! Requests of tests to the scheduler, with the crate chess-spec: choices, rare events, assumptions,
//! and linearizability.

use std::collections::BTreeMap;
use std::process::Command;

use end_to_end::{Workspace, source_of};
use serde_json::Value;

const JSON: [&str; 3] = ["--no-fail-fast", "--message-format", "json"];

/// Returns the verdicts on the tests of a binary of the fixture, by their names.
pub(super) fn verdicts(
    workspace: &Workspace,
    binary: &str,
    args: &[&str],
) -> BTreeMap<String, Value> {
    let binary = ["test", "--test", binary];
    let all = [&binary, &JSON[..], args].concat();
    let run = workspace.chess(&all).run();
    run.assert_code(100);
    run.verdicts_by_name()
}

/// The exact number of executions of each test.
const COUNTS: [(&str, u64); 4] = [
    ("nine_executions", 3 * 3),
    ("six_executions", 1 + 2 + 3),
    ("four_executions_of_two_tasks", 2 * 2),
    // The walks of nine steps on the numbers from 0 to 4 that begin at 0.
    ("sequence_fixed", 81),
];

#[test]
fn each_request_finds_a_bug_and_the_corrected_test_passes_completely() {
    let workspace = Workspace::shared("requests");
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        for more in [&[][..], &["--backend", "threads"], &["--isolate", "fork"]] {
            let is_exhaustive = ["icb", "dpor"].contains(&strategy);
            let limit = if is_exhaustive { "100000" } else { "300" };
            let args = ["--strategy", strategy, "--schedules", limit];
            // With spurious wake-ups, `dpor` would never finish.
            let args = [&args[..], &["--spurious", "never"], more].concat();
            for (test, verdict) in verdicts(&workspace, "choices", &args) {
                let fails = test.ends_with("_buggy");
                let outcome = ["passed", "failed"][usize::from(fails)];
                assert_eq!(verdict["outcome"], outcome, "{args:?}: {verdict}");
                if !fails && is_exhaustive {
                    let is_done = verdict["complete"] == true || verdict["bound_completed"] == 2;
                    assert!(is_done, "{args:?}: {verdict}");
                }
                let count = COUNTS.iter().find(|(name, _)| *name == test);
                if let Some((_, count)) = count.filter(|_| is_exhaustive) {
                    assert_eq!(verdict["schedules"], *count, "{args:?}: {verdict}");
                    assert_eq!(verdict["complete"], true, "{args:?}: {verdict}");
                }
            }
        }
    }
}

#[test]
fn each_saved_failure_is_reproduced_in_each_of_twenty_replays() {
    let workspace = Workspace::copy_of("requests");
    let failures = verdicts(&workspace, "choices", &["buggy"]);
    assert_eq!(failures.len(), 6);
    let replayed = failures.values().filter_map(|it| it["schedule"].as_str());
    let replayed: Vec<_> = replayed.collect();
    assert_eq!(replayed.len(), 5);
    for schedule in replayed {
        for _ in 0..20 {
            let run = workspace.chess(&["replay", schedule]).run();
            run.assert_code(100);
            assert!(run.stderr.contains("Reproduced"), "{run:?}");
        }
    }
}

#[test]
fn a_test_whose_assumptions_never_hold_fails() {
    let workspace = Workspace::shared("requests");
    let run = workspace.chess(&["test", "nothing_tested"]).run();
    run.assert_says(
        100,
        &[
            "an assumption failed in all 3 schedules: nothing was tested",
            "--> tests/choices.rs:",
            "assume(count == 3);",
        ],
    );
    assert!(!run.stderr.contains("Replay"), "{run:?}");
    let run = workspace.chess(&["test", "assumption_fixed"]).run();
    run.assert_says(
        0,
        &[
            "schedules, 1 left out by an assumption, complete",
            ", where the test's assumptions hold",
        ],
    );
}

#[test]
fn reports_show_the_choices() {
    let workspace = Workspace::copy_of("requests");
    let report = |test: &str| {
        let run = workspace.chess(&["test", test]).run();
        run.assert_code(100);
        let text = workspace.redact(&run.stderr);
        let (_, report) = text.split_once("  The failing execution").expect("a table");
        let (report, _) = report.split_once("Saved").expect("a schedule");
        report.to_owned()
    };
    insta::assert_snapshot!("number_of_tasks", report("number_of_tasks_buggy"));
    insta::assert_snapshot!("rare_event", report("rare_event_buggy"));
}

#[test]
fn structures_that_are_not_linearizable_are_found_from_their_operations() {
    let workspace = Workspace::shared("requests");
    let explored = ["--strategy", "auto", "--schedules", "20000"];
    let all = verdicts(&workspace, "linearizability", &explored);
    assert_eq!(all.len(), 12);
    for (test, verdict) in &all {
        let (structure, version) = test.split_once("::").expect("a version");
        let outcome = ["passed", "failed"][usize::from(version == "buggy")];
        assert_eq!(verdict["outcome"], outcome, "{verdict}");
        let is_small = ["lazy_set", "list"].contains(&structure);
        if is_small && version == "fixed" {
            assert_eq!(verdict["complete"], true, "{verdict}");
        }
        // The code of the check counts as code of the test, and not as an atomic package.
        assert_eq!(verdict["atomic"], serde_json::json!([]), "{verdict}");
    }
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        let limits = ["--strategy", strategy, "--schedules", "20000", "buggy"];
        for (_, verdict) in verdicts(&workspace, "linearizability", &limits) {
            assert_eq!(verdict["outcome"], "failed", "{strategy}: {verdict}");
        }
    }
}

#[test]
fn a_history_is_shown_with_the_reason_why_no_order_explains_it() {
    let workspace = Workspace::copy_of("requests");
    let args = ["test", "--test", "linearizability", "counter::buggy"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let (_, message) = run
        .stderr
        .split_once("not linearizable")
        .expect("a message");
    let (message, _) = message.split_once("-->").expect("a place");
    insta::assert_snapshot!("history", message);
}

/// Returns the verdicts on the tests of the fixtures that compare with models, relax operations,
/// or block.
fn declared_and_blocking(args: &[&str]) -> BTreeMap<String, Value> {
    let workspace = Workspace::shared("requests");
    let args = [&["--spurious", "never"], args].concat();
    let mut all = verdicts(&workspace, "declared", &args);
    all.extend(verdicts(&workspace, "blocking", &args));
    all
}

#[test]
fn models_relaxed_and_blocking_operations_are_explored_completely() {
    for strategy in ["icb", "dpor"] {
        let all = declared_and_blocking(&["--strategy", strategy, "--schedules", "100000"]);
        assert_eq!(all.len(), 22);
        for (test, verdict) in &all {
            let fails = test.ends_with("buggy");
            let outcome = ["passed", "failed"][usize::from(fails)];
            assert_eq!(verdict["outcome"], outcome, "{strategy}: {verdict}");
            let is_done = match strategy {
                "dpor" => verdict["complete"] == true,
                _ => verdict["complete"] == true || verdict["bound_completed"] == 2,
            };
            assert!(fails || is_done, "{strategy}: {verdict}");
            // A call that never returns is no deadlock.
            assert!(
                !fails || verdict["kind"] == "panic",
                "{strategy}: {verdict}"
            );
            assert_eq!(verdict["atomic"], serde_json::json!([]), "{verdict}");
            if test == "counted::fixed" && strategy == "dpor" {
                assert_eq!(verdict["schedules"], 3 + 2 + 1, "{verdict}");
            }
        }
    }
    let limits = ["--strategy", "pct,pos,surw,random", "--schedules", "20000"];
    for verdict in declared_and_blocking(&[&limits[..], &["buggy"]].concat()).values() {
        assert_eq!(verdict["outcome"], "failed", "{verdict}");
    }
}

#[test]
fn calls_that_never_return_are_found_on_threads_and_in_processes() {
    let workspace = Workspace::shared("requests");
    for more in [["--backend", "threads"], ["--isolate", "fork"]] {
        let args = ["--strategy", "dpor", "--spurious", "never", "queue::"];
        let all = verdicts(&workspace, "blocking", &[&args[..], &more].concat());
        assert_eq!(
            all["queue::buggy"]["outcome"], "failed",
            "{more:?}: {all:?}"
        );
        assert_eq!(all["queue::fixed"]["complete"], true, "{more:?}: {all:?}");
    }
}

#[test]
fn a_call_that_never_returns_is_shown_in_its_history() {
    let workspace = Workspace::copy_of("requests");
    let args = ["test", "--test", "blocking", "queue::buggy"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let (_, message) = run
        .stderr
        .split_once("not linearizable")
        .expect("a message");
    let (message, _) = message.split_once("-->").expect("a place");
    insta::assert_snapshot!("stuck_history", message);
}

#[test]
fn plain_runs_wait_for_calls_and_find_errors_of_one_thread() {
    let target = Workspace::empty();
    let output = Command::new("cargo")
        .args(["test", "--no-fail-fast", "--test", "declared", "--test"])
        .args(["blocking", "--", "fixed", "model_of_queue"])
        .current_dir(source_of("requests"))
        .env("CARGO_TARGET_DIR", target.root())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    for result in [
        "model_of_queue::buggy ... FAILED",
        "5 passed; 1 failed",
        "5 passed; 0 failed",
    ] {
        assert!(text.contains(result), "{result}: {text}");
    }
}

#[test]
fn plain_tests_take_the_first_outcomes() {
    let target = Workspace::empty();
    let output = Command::new("cargo")
        .args([
            "test",
            "--test",
            "choices",
            "--",
            "--skip",
            "nothing_tested_buggy",
            // The assumption of this test holds only if the threads run in one of their orders.
            "--skip",
            "failure_beside_an_unmet_assumption_buggy",
        ])
        .current_dir(source_of("requests"))
        .env("CARGO_TARGET_DIR", target.root())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("11 passed; 0 failed"), "{text}");
}
