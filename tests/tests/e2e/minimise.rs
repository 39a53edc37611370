//! Minimisation of a failing schedule: fewest preemptions, then fewest switches, then fewest steps.

use std::collections::BTreeMap;
use std::fs;

use end_to_end::{Workspace, without_durations};
use serde_json::Value;

/// Test binaries without livelocks. A livelock takes long to detect, and a sample may miss a task
/// that spins.
const FEW: &[&str] = &["locks", "condvars", "channels", "threads", "isolation"];

const LOST_UPDATE: &str = "
#![cfg(test)]
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn count() {
    let count = AtomicU32::new(0);
    let add = || count.store(count.load(SeqCst) + 1, SeqCst);
    thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    assert_eq!(count.load(SeqCst), 2, \"lost\");
}
";

/// Returns the fewest preemptions of each buggy test of the catalog.
fn fewest(workspace: &Workspace) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(workspace.root().join("expected.toml")).unwrap();
    let tests = text.split("[[test]]").filter_map(|test| {
        let value = |key: &str| {
            let mut lines = test.lines();
            let line = lines.find(|line| line.starts_with(key))?;
            Some(line.split(" = ").nth(1)?.trim_matches('"').to_owned())
        };
        Some((value("test")?, value("preemptions")?.parse().ok()?))
    });
    tests.collect()
}

#[test]
fn failures_of_random_schedules_are_reported_with_the_fewest_preemptions() {
    let workspace = Workspace::shared("catalog");
    let fewest = fewest(&workspace);
    for seed in ["1", "2"] {
        let args = ["test", "--strategy", "random", "--seed", seed];
        let more = ["--no-fail-fast", "--message-format", "json"];
        let tests = FEW.iter().flat_map(|test| ["--test", test]);
        let args: Vec<_> = args.into_iter().chain(more).chain(tests).collect();
        let run = workspace.chess(&[&args[..], &["buggy"]].concat()).run();
        run.assert_code(100);
        let verdicts = run.verdicts();
        assert!(verdicts.len() > 15);
        for verdict in verdicts {
            let test = verdict["test"].as_str().unwrap();
            // In this test, panics of the schedule without preemptions are intended. A sample
            // is almost never that schedule.
            if test.starts_with("unjoined_panic::") {
                continue;
            }
            let found = &verdict["preemptions"];
            assert_eq!(*found, fewest[test], "seed {seed}: {verdict}");
            let minimised = &verdict["minimised"];
            assert_eq!(minimised["to"]["preemptions"], *found);
            assert_eq!(minimised["fewest_preemptions"], true, "{verdict}");
        }
    }
}

#[test]
fn a_smaller_schedule_repeats_and_is_found_again() {
    let workspace = Workspace::with_library(LOST_UPDATE);
    let explore = || {
        let args = ["test", "--strategy", "random", "--seed", "5"];
        let run = workspace.chess(&[&args[..], &["--message-format", "json"]].concat());
        let run = run.run();
        run.assert_code(100);
        run
    };
    let (first, second) = (explore(), explore());
    assert_eq!(
        without_durations(first.events()),
        without_durations(second.events())
    );
    let verdict = first.verdict();
    assert_eq!(verdict["preemptions"], 1);
    let schedule = verdict["schedule"].as_str().unwrap();
    let replay = workspace.chess(&["replay", schedule]).run();
    replay.assert_code(100);
    assert!(replay.stderr.contains("1 preemption"), "{}", replay.stderr);
}

#[test]
fn the_smallest_schedule_stays_as_it_is() {
    let workspace = Workspace::with_library(LOST_UPDATE);
    let args = ["test", "--strategy", "icb", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    let minimised: Value = run.verdict()["minimised"].clone();
    assert_eq!(minimised["from"], minimised["to"]);
    assert_eq!(minimised["fewest_preemptions"], true);
    let printed = workspace.chess(&["test", "--strategy", "icb"]).run();
    assert!(!printed.stderr.contains("Shrunk"), "{}", printed.stderr);
}

#[test]
fn executions_in_processes_of_their_own_are_made_smaller() {
    let workspace = Workspace::with_library(LOST_UPDATE);
    for isolation in ["image", "fork"] {
        let args = ["test", "--strategy", "random", "--seed", "5"];
        let more = ["--isolate", isolation, "--message-format", "json"];
        let run = workspace.chess(&[&args[..], &more].concat()).run();
        let verdict = run.verdict();
        assert_eq!(verdict["preemptions"], 1, "{isolation}: {verdict}");
    }
}

/// While a livelock is minimised, executions have a low step limit, because each livelock would
/// take long. An execution that exceeds this limit may still end later, and must not be reported
/// as a livelock.
#[test]
fn a_long_execution_does_not_take_the_place_of_one_without_end() {
    let workspace = Workspace::with_library(
        r"
        #[test]
        fn ends_late_or_never() {
            use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
            let (state, turns) = (AtomicU32::new(0), AtomicU32::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    state.store(1, SeqCst);
                    state.store(0, SeqCst);
                });
                let rounds = if state.load(SeqCst) == 1 { u32::MAX } else { 2_000 };
                for _ in 0..rounds {
                    turns.fetch_add(1, SeqCst);
                    std::thread::yield_now();
                }
            });
        }
        ",
    );
    let first_fails = (0..50).map(|seed: u32| {
        let seed = seed.to_string();
        let args = [
            "test",
            "--strategy",
            "random",
            "--seed",
            &seed,
            "--max-steps",
            "100",
        ];
        let run = workspace
            .chess(&args)
            .arg("--schedules=2")
            .arg("--message-format=json")
            .run();
        run.verdict()
    });
    let mut failing = first_fails.filter(|it| it["kind"] == "livelock" && it["schedules"] == 1);
    let verdict = failing.next().expect("one schedule in a few fails");
    assert_eq!(verdict["preemptions"], 2, "{verdict}");
    assert_ne!(verdict["minimised"], Value::Null, "{verdict}");
}
