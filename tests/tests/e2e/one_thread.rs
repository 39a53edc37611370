//! Tests of one thread are reported as such, and other tests are not.

use end_to_end::Workspace;
use serde_json::json;

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn adds() {
    assert_eq!(AtomicUsize::new(1).fetch_add(1, SeqCst), 1);
}

/// It may fail for no reason.
#[test]
fn exchanges_weakly() {
    let _ = AtomicUsize::new(1).compare_exchange_weak(1, 2, SeqCst, SeqCst);
}

/// Two threads, and still only one order.
#[test]
fn starts_another() {
    thread::spawn(|| {}).join().unwrap();
}
";

#[test]
fn a_test_of_one_thread_is_counted_apart_unless_something_may_happen_to_it() {
    let workspace = Workspace::with_library(LIBRARY);
    let run = workspace.chess(&["test", "--message-format=json"]).run();
    run.assert_code(0);
    let printed = |test: &str| {
        let verdicts = run.verdicts();
        let verdict = verdicts
            .iter()
            .find(|it| it["test"] == test)
            .expect("it ran");
        assert_eq!(verdict["complete"], true, "{verdict}");
        assert_eq!(verdict["one_thread_runtime"], json!(null), "{verdict}");
        let fields = ["threads", "nothing_to_explore", "coverage"];
        fields.map(|field| verdict[field].clone())
    };
    let nothing = "one thread, nothing to explore";
    assert_eq!(printed("adds"), [json!(1), json!(true), json!(nothing)]);
    let complete = json!("complete");
    assert_eq!(
        printed("exchanges_weakly"),
        [json!(1), json!(false), complete.clone()]
    );
    assert_eq!(
        printed("starts_another"),
        [json!(2), json!(false), complete]
    );
    let last = run.events().pop().expect("a run ends");
    assert_eq!(
        (&last["passed"], &last["nothing_to_explore"]),
        (&json!(3), &json!(1))
    );

    let run = workspace.chess(&["test"]).run();
    for part in [
        "small adds (one thread, nothing to explore, ",
        "small exchanges_weakly (2 schedules of one thread, complete, ",
        "Finished 3 passed (1 with nothing to explore), 0 failed in ",
        "Guarantee 1 test: every interleaving of the synchronization operations was explored",
        "Guarantee 1 test: one thread; all outcomes of the test's choices, of timeouts and of",
        "Guarantee 1 test: one thread, nothing to explore\n",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

const LONG: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

fn adds() {
    let sum = AtomicUsize::new(0);
    for _ in 0..3_000 {
        sum.fetch_add(1, SeqCst);
    }
    assert_eq!(sum.load(SeqCst), 3_000);
}

#[test]
fn only_adds() {
    adds();
}

/// The exchange, which may fail for no reason, comes after the step limit.
#[test]
fn then_exchanges_weakly() {
    adds();
    let _ = AtomicUsize::new(1).compare_exchange_weak(1, 2, SeqCst, SeqCst);
}

#[test]
fn then_starts_another() {
    adds();
    thread::spawn(|| {}).join().unwrap();
}
";

#[test]
fn a_long_test_of_one_thread_is_complete_unless_there_is_a_choice_past_the_step_limit() {
    let workspace = Workspace::with_library(LONG);
    for strategy in ["auto", "icb", "dpor", "delay"] {
        let test = workspace.chess(&["test", "--message-format=json", "--max-steps=1000"]);
        let run = test.arg("--strategy").arg(strategy).run();
        run.assert_code(0);
        for verdict in run.verdicts() {
            let is_whole = verdict["test"] == "only_adds";
            assert_eq!(verdict["complete"], json!(is_whole), "{verdict}");
            assert_eq!(verdict["nothing_to_explore"], json!(is_whole), "{verdict}");
            let warnings = verdict["warnings"].to_string();
            let is_cut = warnings.contains("more than --max-steps steps");
            assert_eq!(is_cut, !is_whole, "{verdict}");
        }
    }
}

#[test]
fn a_test_on_tokios_current_thread_runtime_is_reported_with_the_reason_for_one_thread() {
    let workspace = Workspace::shared("executors");
    let args = [
        "test",
        "--message-format=json",
        "--test=tokio",
        "lost_update::",
    ];
    let run = workspace.chess(&args).arg("--no-fail-fast").run();
    let verdicts = run.verdicts();
    let printed = |test: &str| {
        let verdict = verdicts
            .iter()
            .find(|it| it["test"] == test)
            .expect("it ran");
        ["nothing_to_explore", "one_thread_runtime"].map(|field| verdict[field].clone())
    };
    assert_eq!(
        printed("lost_update::on_one_thread"),
        [json!(true), json!("tokio")]
    );
    assert_eq!(printed("lost_update::fixed"), [json!(false), json!(null)]);
    let run = workspace
        .chess(&["test", "--test=tokio", "on_one_thread"])
        .run();
    let why = "one thread, nothing to explore: tokio's current-thread runtime, the default of #[tokio::test]";
    assert!(run.stderr.contains(why), "{}", run.stderr);
}
