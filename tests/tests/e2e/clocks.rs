//! Two reads of the clock do not commute: a program can see their order in the two times.

use end_to_end::Workspace;

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

fn both<T: Send>(work: impl Fn() -> T + Sync) -> (T, T) {
    thread::scope(|scope| {
        let first = scope.spawn(&work);
        let second = scope.spawn(&work);
        (first.join().unwrap(), second.join().unwrap())
    })
}

#[test]
fn one_read_each() {
    let (first, second) = both(Instant::now);
    assert!(first <= second);
}

#[test]
fn overlap() {
    let count = AtomicU32::new(0);
    let (first, second) = both(|| {
        let from = Instant::now();
        count.fetch_add(1, SeqCst);
        (from, Instant::now())
    });
    assert!(first.1 < second.0 || second.1 < first.0);
}

#[test]
fn between() {
    let (span, moment) = thread::scope(|scope| {
        let span = scope.spawn(|| (Instant::now(), Instant::now()));
        let moment = scope.spawn(Instant::now);
        (span.join().unwrap(), moment.join().unwrap())
    });
    assert!(!(span.0 < moment && moment < span.1));
}

#[test]
fn after_many_reads() {
    for _ in 0..20 {
        thread::spawn(|| ()).join().unwrap();
        Instant::now();
    }
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(Instant::now);
        let second = Instant::now();
        (first.join().unwrap(), second)
    });
    assert!(first > second);
}

#[test]
fn under_a_lock() {
    let last = Mutex::new(Instant::now());
    both(|| {
        let mut last = last.lock().unwrap();
        let now = Instant::now();
        assert!(now >= *last);
        *last = now;
    });
}

#[test]
fn two_reads_each() {
    both(|| (Instant::now(), Instant::now()));
}

#[test]
fn in_one_task() {
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| ());
        while begin.elapsed() < Duration::from_millis(1) {}
    });
}

#[test]
fn waits() {
    both(|| {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_micros(100) {}
    });
}
";

#[test]
fn each_order_of_clock_reads_is_explored() {
    let workspace = Workspace::with_library(LIBRARY);
    for strategy in ["auto", "icb", "dpor"] {
        let args = ["test", "--no-fail-fast", "--message-format=json"];
        let run = workspace
            .chess(&args)
            .args(["--strategy", strategy, "--preemptions=9"])
            .args(["--", "--skip=waits"])
            .run();
        run.assert_code(100);
        let verdicts = run.verdicts_by_name();
        for (name, preemptions) in [
            ("one_read_each", 0),
            ("overlap", 1),
            ("between", 1),
            ("after_many_reads", 1),
        ] {
            let verdict = &verdicts[name];
            assert_eq!(verdict["outcome"], "failed", "{strategy}: {verdict}");
            assert_eq!(verdict["preemptions"], preemptions, "{strategy}: {verdict}");
        }
        for name in ["under_a_lock", "two_reads_each", "in_one_task"] {
            let verdict = &verdicts[name];
            assert_eq!(verdict["outcome"], "passed", "{strategy}: {verdict}");
            assert_eq!(verdict["complete"], true, "{strategy}: {verdict}");
            assert_eq!(
                verdict["misses_clock_reads"], false,
                "{strategy}: {verdict}"
            );
        }
        // The search begins anew after the first schedule. Two tasks with two reads each have six
        // interleavings.
        if strategy == "dpor" {
            assert_eq!(verdicts["two_reads_each"]["schedules"], 1 + 6);
        }
        // No order can matter.
        assert_eq!(verdicts["in_one_task"]["schedules"], 1, "{strategy}");
    }
}

#[test]
fn a_report_names_the_reads_of_the_clock_and_replays() {
    let workspace = Workspace::with_library(LIBRARY);
    let run = workspace.chess(&["test", "--exact", "between"]).run();
    run.assert_code(100);
    let read = |line: &str| line.contains("read the clock") && line.contains("src/lib.rs");
    assert!(run.stderr.lines().any(read), "{run:?}");
    let mut lines = run.stderr.lines();
    let schedule = lines.find_map(|line| line.trim().strip_prefix("Saved "));
    let replay = workspace.chess(&["replay", schedule.unwrap()]).run();
    replay.assert_code(100);
}

#[test]
fn a_guarantee_says_that_later_clock_reads_are_not_interleaved() {
    let workspace = Workspace::with_library(LIBRARY);
    let run = workspace
        .chess(&["test", "--strategy=icb", "--exact", "waits"])
        .run();
    run.assert_says(
        0,
        &[", where the order of clock reads does not matter after the first 8 of each thread"],
    );
}
