//! A search that is paused and resumed in another process has the same result as one without
//! pauses.

use end_to_end::Workspace;
use serde_json::Value;

const TESTS: &str = r#"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

fn locked(threads: u32, increments: u32) {
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..increments).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    assert_eq!(count.into_inner().unwrap(), threads * increments);
}

#[test]
fn passes() {
    locked(3, 3);
}

#[test]
fn fails() {
    let steps = [const { AtomicU32::new(0) }; 3];
    thread::scope(|scope| {
        scope.spawn(|| steps.iter().for_each(|step| step.store(1, SeqCst)));
        scope.spawn(|| {
            let seen: Vec<_> = steps.iter().rev().map(|step| step.load(SeqCst)).collect();
            assert_ne!(seen, [0, 1, 1]);
        });
        scope.spawn(|| locked(1, 2));
    });
}

#[test]
fn waits() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                *pair.0.lock().unwrap() += 1;
                pair.1.notify_all();
                let count = pair.0.lock().unwrap();
                let time = Duration::from_millis(5);
                drop(pair.1.wait_timeout_while(count, time, |count| *count < 3));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn computes() {
    let steps = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                (0..1_000_000).for_each(|number| drop(std::hint::black_box(number)));
                steps.fetch_add(1, SeqCst);
                steps.fetch_add(1, SeqCst);
            });
        }
    });
}

#[test]
fn changes_its_process() {
    unsafe extern "C" {
        fn getuid() -> u32;
        fn setuid(user: u32) -> i32;
    }
    let steps = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            steps.fetch_add(1, SeqCst);
            steps.fetch_add(1, SeqCst);
        });
        scope.spawn(|| {
            if steps.fetch_add(2, SeqCst) == 1 {
                assert_eq!(unsafe { setuid(getuid()) }, 0);
            }
        });
    });
}
"#;

/// Returns the workspace, with its tests built.
fn workspace() -> Workspace {
    let workspace = Workspace::with_library(TESTS);
    workspace.chess(&["list"]).run().assert_code(0);
    workspace
}

/// Explores a test. Returns the last line of the results, and whether a line before it says that
/// the state of the search was written. The state is in the file `state`.
fn explore(workspace: &Workspace, test: &str, request: &str, resume: bool) -> (Value, bool) {
    let start = if resume { "" } else { "echo 01 >state;" };
    let script = format!(
        "{start} for binary in target/chess/build/*/*/debug/deps/small-*; do case $binary in *.d) ;; \
         *) CHESS_REQUEST='mode=explore\npolicy=src=preempt\nsave-ms=100000\nresume={}\n{request}' \
         $binary --exact {test} 0<>state;; esac; done",
        u8::from(resume)
    );
    let run = workspace.shell(&script).run();
    let mut lines = run.events();
    let finished = lines
        .pop()
        .unwrap_or_else(|| panic!("no answer in {run:?}"));
    assert_eq!(finished["type"], "finished", "{run:?}");
    (finished, lines.iter().any(|line| line["type"] == "state"))
}

/// Checks that a search has the same result with pauses. The first pause is after `pause` units of
/// work. The work at each later pause is four times the work at the previous one. Returns the
/// number of pauses.
#[track_caller]
fn assert_same(workspace: &Workspace, test: &str, request: &str, mut pause: u64) -> u32 {
    let (whole, _) = explore(workspace, test, request, false);
    assert_eq!(whole["paused"], false, "{whole}");
    let mut pauses = 0;
    loop {
        let request = format!("{request}\npause={pause:020}");
        let (finished, has_state) = explore(workspace, test, &request, pauses > 0);
        if finished["paused"] == false {
            assert_eq!(finished, whole, "{test} with {request}");
            return pauses;
        }
        assert!(has_state && finished["lost"] == false, "{finished}");
        let work = finished["work"].as_u64().expect("a number");
        assert!(work >= pause, "{finished}");
        pause = work * 4;
        pauses += 1;
    }
}

#[test]
fn a_search_that_pauses_ends_as_one_that_does_not() {
    let workspace = workspace();
    let strategies = [
        "auto",
        "icb",
        "dpor",
        "random",
        "pct",
        "pos",
        "surw",
        "delay",
        "random,pct,delay",
        "icb,surw",
    ];
    for strategy in strategies {
        let request = format!("strategy={strategy}\nschedules=500");
        assert!(assert_same(&workspace, "passes", &request, 500) > 1);
        assert_same(&workspace, "fails", &request, 150);
    }
    let request = "strategy=auto\nschedules=500";
    assert!(assert_same(&workspace, "waits", request, 2_000) > 1);
    // The same with a budget of work instead of schedules.
    let request = "strategy=auto\nwork=00000000000000100000";
    assert!(assert_same(&workspace, "passes", request, 2_000) > 2);
}

#[test]
fn a_search_that_takes_long_for_its_work_pauses_by_time_and_ends_the_same() {
    let workspace = workspace();
    let request = "strategy=auto\nschedules=40";
    let (whole, _) = explore(&workspace, "computes", request, false);
    let mut schedules = vec![0];
    for limit in [10, 1, 100_000] {
        let request = format!("{request}\npause={:020}\npause-ms={limit:020}", u64::MAX);
        let (finished, has_state) = explore(&workspace, "computes", &request, schedules.len() > 1);
        if limit == 100_000 {
            assert_eq!(finished, whole);
            break;
        }
        assert!(has_state && finished["paused"] == true, "{finished}");
        schedules.push(finished["schedules"].as_u64().expect("a number"));
    }
    assert!(
        schedules.is_sorted_by(|earlier, later| earlier < later),
        "{schedules:?}"
    );
}

#[test]
fn it_pauses_where_each_execution_has_a_process_too() {
    let workspace = workspace();
    let request = "strategy=auto\nschedules=60\nisolate=fork";
    assert!(assert_same(&workspace, "passes", request, 500) > 0);
    let request = "strategy=icb\nschedules=60";
    assert!(assert_same(&workspace, "changes_its_process", request, 400) > 1);
}

#[test]
fn a_search_that_continues_after_a_failure_begins_anew_after_a_pause() {
    let workspace = workspace();
    let request = "strategy=random\nschedules=500\nkeep-going=true\npause=00000000000000010000";
    let (finished, has_state) = explore(&workspace, "fails", request, false);
    let printed = ["outcome", "paused", "lost"].map(|key| finished[key].to_string());
    assert_eq!(printed, ["\"failed\"", "true", "true"]);
    assert!(!has_state);
}
