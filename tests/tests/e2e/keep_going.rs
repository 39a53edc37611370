//! `--keep-going` finds every distinct failure of a test, and distinguishes them.

use end_to_end::{Run, Workspace, without_durations};
use serde_json::Value;

/// A test with three faults: a lost update, a deadlock of locks that are acquired in opposite
/// orders, and a flag that is read between its two stores. They need one, one and two preemptions.
const THREE_FAILURES: &str = r#"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn three() {
    let (count, phase) = (AtomicU32::new(0), AtomicU32::new(0));
    let (left, right) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            phase.store(1, SeqCst);
            phase.store(2, SeqCst);
            count.store(count.load(SeqCst) + 1, SeqCst);
            let _left = left.lock().unwrap();
            let _right = right.lock().unwrap();
        });
        assert_ne!(phase.load(SeqCst), 1, "seen half way");
        count.store(count.load(SeqCst) + 1, SeqCst);
        let _right = right.lock().unwrap();
        let _left = left.lock().unwrap();
    });
    assert_eq!(count.load(SeqCst), 2, "lost");
}
"#;

/// A test with two failures. The panic occurs in an earlier schedule than the abort of the process.
const A_PANIC_AND_A_CRASH: &str = r#"
#![cfg(test)]
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn both() {
    let phase = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            phase.store(1, SeqCst);
            phase.store(2, SeqCst);
        });
        match phase.load(SeqCst) {
            0 => {}
            1 => process::abort(),
            _ => panic!("late"),
        }
    });
}
"#;

/// A test in which, with one preemption, the spawned task waits for a flag that is never set.
const A_LIVELOCK: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn waits() {
    let (begun, done) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            if begun.load(SeqCst) == 1 {
                while done.load(SeqCst) == 0 {
                    thread::yield_now();
                }
            }
        });
        begun.store(1, SeqCst);
        begun.store(2, SeqCst);
    });
}
";

fn run(workspace: &Workspace, more_args: &[&str]) -> Run {
    let args = ["test", "--message-format", "json"];
    let run = workspace.chess(&[&args, more_args].concat()).run();
    run.assert_code(100);
    run
}

/// Returns the kind and the first line of the message of each failure. The failure of the verdict
/// comes first.
fn failures<'a>(verdict: &'a Value) -> Vec<(&'a str, &'a str)> {
    let others = verdict["other_failures"].as_array().expect("a list");
    let describe = |failure: &'a Value| {
        let message = failure["message"].as_str().expect("a failure has words");
        (
            failure["kind"].as_str().expect("a failure has a kind"),
            message.lines().next().expect("a line"),
        )
    };
    [verdict].into_iter().chain(others).map(describe).collect()
}

/// Replays the schedule of each failure, and checks that it leads to the same failure.
fn assert_each_replays(workspace: &Workspace, verdict: &Value) {
    let others = verdict["other_failures"].as_array().expect("a list");
    for failure in [verdict].into_iter().chain(others) {
        let schedule = failure["schedule"].as_str().expect("a saved schedule");
        let args = ["replay", "--message-format", "json", schedule];
        let run = workspace.chess(&args).run();
        run.assert_code(100);
        for field in ["kind", "message", "location", "preemptions"] {
            assert_eq!(run.verdict()[field], failure[field], "{field} of {run:?}");
        }
    }
}

#[test]
fn all_distinct_failures_are_found_and_each_replays() {
    let workspace = Workspace::with_library(THREE_FAILURES);
    for more_args in [
        &["--keep-going"][..],
        &["--keep-going", "--backend", "threads"],
        &["--keep-going", "--isolate", "fork"],
    ] {
        let found = run(&workspace, more_args);
        let verdict = found.verdict();
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(failures(&verdict));
        }
        assert_eq!(verdict["bound_completed"], 2);
        assert_eq!(verdict["preemptions"], 1);
        assert_each_replays(&workspace, &verdict);

        let again = run(&workspace, more_args);
        let (found, again) = (found.events(), again.events());
        assert_eq!(without_durations(found), without_durations(again));
    }
}

#[test]
fn without_the_flag_the_search_ends_with_the_first_failure() {
    let workspace = Workspace::with_library(THREE_FAILURES);
    let first = run(&workspace, &[]).verdict();
    assert_eq!(first["other_failures"], serde_json::json!([]));
    assert_eq!(first["bound_completed"], 0);

    let all = run(&workspace, &["--keep-going"]).verdict();
    for field in ["kind", "message", "location", "preemptions", "schedule"] {
        assert_eq!(first[field], all[field], "{field}");
    }
}

#[test]
fn a_search_in_processes_of_their_own_survives_a_crash() {
    let workspace = Workspace::with_library(A_PANIC_AND_A_CRASH);
    let args = ["--keep-going", "--isolate", "fork", "--preemptions", "9"];
    let verdict = run(&workspace, &args).verdict();
    insta::assert_debug_snapshot!(failures(&verdict));
    assert_eq!(verdict["warnings"], serde_json::json!([]));
    assert_eq!(verdict["complete"], true);
    assert_each_replays(&workspace, &verdict);
}

#[test]
fn a_bound_is_not_finished_where_an_execution_was_cut_short() {
    let workspace = Workspace::with_library(A_LIVELOCK);
    let verdict = run(&workspace, &["--keep-going", "--max-steps", "500"]).verdict();
    insta::assert_debug_snapshot!(failures(&verdict));
    assert_eq!(verdict["bound_completed"], 0);
    assert_eq!(verdict["complete"], false);
    assert_each_replays(&workspace, &verdict);
}

#[test]
fn a_crash_ends_the_search_and_keeps_the_failures() {
    let workspace = Workspace::with_library(A_PANIC_AND_A_CRASH);
    let found = run(&workspace, &["--keep-going"]);
    let verdict = found.verdict();
    insta::assert_debug_snapshot!(failures(&verdict));
    let warning = "the search ended early: a schedule crashed the test process";
    assert_eq!(verdict["warnings"], serde_json::json!([warning]));
    assert_eq!(verdict["bound_completed"], 1);
    assert_each_replays(&workspace, &verdict);
}
