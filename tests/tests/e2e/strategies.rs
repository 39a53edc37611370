//! Sampling strategies and delay bounding find the bugs of the catalog, and a seed determines
//! their results.

use end_to_end::{Workspace, without_durations};
use serde_json::Value;

const STRATEGIES: [&str; 5] = ["random", "pct", "pos", "surw", "delay"];

fn explore(strategy: &str, args: &[&str]) -> Vec<Value> {
    let workspace = Workspace::shared("catalog");
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&common, args].concat());
    let run = run.arg("--strategy").arg(strategy).run();
    without_durations(run.events())
}

fn verdicts(strategy: &str, args: &[&str]) -> Vec<Value> {
    let mut events = explore(strategy, args);
    events.retain(|event| event["type"] == "test-finished");
    assert!(!events.is_empty());
    events
}

/// Checks that each buggy test fails, and that its corrected twin passes.
fn assert_distinguishes_bugs_from_twins(strategy: &str, args: &[&str]) {
    for verdict in verdicts(strategy, args) {
        let is_buggy = verdict["test"].as_str().unwrap().ends_with("::buggy");
        // The failure may need an early timeout.
        let expected: &[_] = if is_buggy {
            &["failed", "timing"]
        } else {
            &["passed"]
        };
        let outcome = verdict["outcome"].as_str().unwrap();
        assert!(expected.contains(&outcome), "{strategy}: {verdict}");
        assert!(verdict["schedules"] == 1 || verdict["complete"] == false || strategy == "delay");
    }
}

#[test]
fn each_strategy_distinguishes_bugs_from_corrected_twins() {
    let tests = [
        "--schedules",
        "2000",
        "--test",
        "locks",
        "--test",
        "condvars",
    ];
    for strategy in STRATEGIES {
        assert_distinguishes_bugs_from_twins(strategy, &tests);
    }
}

#[test]
fn priorities_and_rounds_find_bugs_that_need_an_unfair_task() {
    let tests = ["--schedules", "300", "--test", "fairness"];
    for strategy in ["pct", "delay", "pos,pct"] {
        assert_distinguishes_bugs_from_twins(strategy, &tests);
    }
}

#[test]
fn a_timeout_ends_early_now_and_then() {
    let tests = ["--schedules", "2000", "recv_timeout"];
    for strategy in STRATEGIES {
        assert_distinguishes_bugs_from_twins(strategy, &tests);
    }
}

#[test]
fn one_seed_gives_the_same_events_and_another_one_other_schedules() {
    let of_seed = |strategy, seed| {
        let args = ["--schedules", "300", "--seed", seed, "--test", "atomics"];
        explore(strategy, &args)
    };
    for strategy in ["pct", "delay,surw,pos"] {
        let first = of_seed(strategy, "7");
        assert_eq!(first, of_seed(strategy, "7"), "{strategy}");
        let distinct = |events: &[Value]| -> Vec<Value> {
            let verdicts = events
                .iter()
                .filter(|event| event["type"] == "test-finished");
            verdicts.map(|verdict| verdict["steps"].clone()).collect()
        };
        assert_ne!(
            distinct(&first),
            distinct(&of_seed(strategy, "8")),
            "{strategy}"
        );
    }
}

#[test]
fn a_search_of_fewer_schedules_is_the_beginning_of_that_of_more() {
    for strategy in ["pct", "surw,pct,pos", "delay"] {
        let of_budget = |budget: u64| {
            let budget = budget.to_string();
            let args = [
                "--schedules",
                &budget,
                "--exact",
                "three_preemptions::buggy",
            ];
            let mut verdict = verdicts(strategy, &args).remove(0);
            verdict["options"].take();
            verdict
        };
        let found = of_budget(20_000);
        assert_eq!(found["outcome"], "failed", "{strategy}: {found}");
        let schedules = found["schedules"].as_u64().unwrap();
        assert_eq!(of_budget(schedules), found, "{strategy}");
        if schedules > 1 {
            assert_eq!(of_budget(schedules - 1)["outcome"], "passed", "{strategy}");
        }
    }
}

#[test]
fn a_bound_that_icb_finished_stays_finished_while_others_sample() {
    let args = ["--schedules", "2000", "--exact", "double_checked::fixed"];
    let alone = verdicts("icb", &args).remove(0);
    let verdict = verdicts("icb,pos,pct", &args).remove(0);
    assert_eq!(verdict["bound_completed"], 2, "{verdict}");
    assert_eq!(verdict["coverage"], alone["coverage"], "{verdict}");
}

/// A test with many threads that yield. There are too many schedules even without preemptions.
const MANY_THREADS: &str = "\
#[test]
fn many_threads_yield() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..4 {
                    count.fetch_add(1, SeqCst);
                    std::thread::yield_now();
                }
            });
        }
    });
}
";

#[test]
fn auto_bounds_delays_where_no_preemption_bound_can_be_finished() {
    let workspace = Workspace::with_library(MANY_THREADS);
    let call = |format| workspace.chess(&["test", "--schedules=8000", "--message-format", format]);
    let run = call("json").run();
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["bound_completed"], Value::Null, "{verdict}");
    assert_eq!(verdict["delays_completed"], 1, "{verdict}");
    let coverage = "delays<=1, where threads that yield repeatedly let other threads run";
    assert_eq!(verdict["coverage"], coverage, "{verdict}");
    call("human").run().assert_says(
        0,
        &[
            "up to 1 delay",
            "every remaining bug needs at least 2 delays",
        ],
    );
}

#[test]
fn progress_estimates_how_much_was_explored() {
    // Without a limit, `delay` reports that this test has 39,645 schedules.
    let args = ["--schedules", "10000", "--exact", "hash_order::fixed"];
    for strategy in ["random", "surw", "delay", "pct,pos"] {
        let mut events = explore(strategy, &args);
        events.retain(|event| event["type"] == "progress");
        assert_eq!(events.len(), 1, "{strategy}: {events:?}");
        let part = events[0]["estimate"].as_f64().expect("an estimate");
        assert!((0.1..1.0).contains(&part), "{strategy}: {part}");
    }
}
