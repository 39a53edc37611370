//! The report of a failure that needs an early timeout says so, and names the option that
//! excludes such schedules.

use end_to_end::{Run, Workspace};
use serde_json::Value;

const TESTS: &str = r"
#![cfg(test)]
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn sleeps_long_enough() {
    let done = Arc::new(AtomicU32::new(0));
    let theirs = done.clone();
    let setter = thread::spawn(move || theirs.store(1, SeqCst));
    thread::sleep(Duration::from_secs(1));
    assert_eq!(done.load(SeqCst), 1);
    setter.join().unwrap();
}

#[test]
fn waits_long_enough() {
    let (sender, receiver) = mpsc::channel();
    let setter = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(1));
    setter.join().unwrap();
}

#[test]
fn no_task_sends() {
    let (_sender, receiver) = mpsc::channel::<u32>();
    assert!(receiver.recv_timeout(Duration::from_secs(30)).is_ok());
}

#[test]
fn waits_too_short() {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let (sender, receiver) = mpsc::channel();
    let setter = thread::spawn(move || {
        theirs.store(theirs.load(SeqCst) + 1, SeqCst);
        sender.send(1).unwrap();
    });
    count.store(count.load(SeqCst) + 1, SeqCst);
    receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(count.load(SeqCst), 2);
    setter.join().unwrap();
}

#[test]
fn two_sleep() {
    let sleeper = thread::spawn(|| thread::sleep(Duration::from_secs(2)));
    thread::sleep(Duration::from_secs(1));
    sleeper.join().unwrap();
}

#[test]
fn sleeps_alone() {
    thread::sleep(Duration::from_secs(1));
    thread::spawn(|| ()).join().unwrap();
}

struct Slot(UnsafeCell<u32>);
unsafe impl Send for Slot {}
unsafe impl Sync for Slot {}

#[test]
fn reads_after_the_time_limit() {
    let slot = Arc::new(Slot(UnsafeCell::new(0)));
    let theirs = slot.clone();
    let (sender, receiver) = mpsc::channel();
    let writer = thread::spawn(move || {
        unsafe { *theirs.0.get() = 1 };
        sender.send(()).unwrap();
    });
    _ = receiver.recv_timeout(Duration::from_secs(30));
    let seen = unsafe { *slot.0.get() };
    assert!(seen <= 1);
    _ = writer.join();
}

#[test]
fn spins_several_times() {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let spinner = thread::spawn(move || {
        for _ in 0..4 {
            (0..150).for_each(|_| thread::yield_now());
            theirs.fetch_add(1, SeqCst);
        }
    });
    thread::sleep(Duration::from_secs(1));
    assert_eq!(count.load(SeqCst), 4);
    spinner.join().unwrap();
}

#[test]
fn measures_a_wait_from_shortly_after_its_start() {
    thread::spawn(|| ()).join().unwrap();
    let begin = Instant::now();
    let measured = Instant::now();
    thread::sleep(Duration::from_millis(100).saturating_sub(begin.elapsed()));
    assert!(measured.elapsed() >= Duration::from_millis(100));
}
";

fn failure(test: &str, options: &[&str]) -> String {
    let workspace = Workspace::with_library(TESTS);
    let arguments = [&["test", "--exact", test], options].concat();
    let run = workspace.chess(&arguments).run();
    run.assert_code(100);
    words(&run)
}

fn words(run: &Run) -> String {
    let words: Vec<_> = run.stderr.split_whitespace().collect();
    words.join(" ")
}

/// Returns the verdict on a test with these options. The run must exit with this code.
fn verdict(test: &str, options: &[&str], code: i32) -> Value {
    let workspace = Workspace::with_library(TESTS);
    let json = ["test", "--exact", test, "--message-format", "json"];
    let run = workspace.chess(&[&json, options].concat()).run();
    run.assert_code(code);
    let mut verdicts = run.verdicts();
    verdicts.pop().expect("a verdict")
}

fn assert_printed(test: &str, sentence: &str, note: &str) {
    for (options, tail) in [
        (
            ["--timing", "deny"],
            "`--timers last` excludes early timeouts",
        ),
        (
            ["--timers", "any"],
            "`--timers last` excludes early timeouts",
        ),
    ] {
        let printed = failure(test, &options);
        for part in [sentence, tail, note] {
            assert!(printed.contains(part), "{part}\n{printed}");
        }
    }
    for options in [["--timers", "last"], ["--timing", "allow"]] {
        let passed = verdict(test, &options, 0);
        assert_eq!(passed["outcome"], "passed");
        assert_eq!(passed["options"]["timers"], "last");
        assert_eq!(passed["timers_last"], Value::Null);
        let coverage = "complete, without early timeouts";
        assert_eq!(passed["coverage"], coverage);
    }
    let warned = verdict(test, &[], 0);
    assert_eq!(warned["outcome"], "timing");
    assert_eq!(warned["kind"], "panic");
    assert_eq!(warned["complete"], false);
    assert_eq!(warned["timers_last"]["complete"], true);
    assert_eq!(warned["early"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_sleep_that_ends_early_is_reported() {
    assert_printed(
        "sleeps_long_enough",
        "This execution needs an early timeout: `sleep` at src/lib.rs:14 (1 s) ends before task 1 \
         performs `store` at src/lib.rs:13.",
        "sleep src/lib.rs:14 ^ ended early (counts as a preemption)",
    );
}

#[test]
fn a_time_limit_that_ends_early_is_reported() {
    assert_printed(
        "waits_long_enough",
        "This execution needs an early timeout: `recv_timeout` at src/lib.rs:23 (30 s) ends before \
         task 1 performs `send` at src/lib.rs:22.",
        "timed out early (counts as a preemption)",
    );
}

#[test]
fn a_race_that_needs_early_time_is_a_failure() {
    let race = verdict("reads_after_the_time_limit", &[], 100);
    assert_eq!(race["outcome"], "failed");
    assert_eq!(race["kind"], "race");
    let report = failure("reads_after_the_time_limit", &[]);
    for part in [
        "(30 s) ends before",
        "The failure is undefined behaviour nevertheless: a duration orders no memory accesses.",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn waits_for_contended_locks_end_no_sleep() {
    let passed = verdict("spins_several_times", &["--timers", "last"], 0);
    assert_eq!(passed["outcome"], "passed");
}

#[test]
fn a_wait_takes_longer_than_its_duration_as_it_does_natively() {
    let passed = verdict("measures_a_wait_from_shortly_after_its_start", &[], 0);
    assert_eq!(passed["outcome"], "passed");
    assert_eq!(passed["complete"], true);
}

#[test]
fn a_time_limit_that_ends_when_no_other_task_can_run_is_not_early() {
    let printed = failure("no_task_sends", &[]);
    assert!(printed.contains("timed out"), "{printed}");
    assert!(!printed.contains("early"), "{printed}");
}

#[test]
fn a_failure_that_needs_no_time_to_pass_early_is_an_ordinary_one() {
    let verdict = verdict("waits_too_short", &[], 100);
    assert_eq!(verdict["outcome"], "failed");
    assert_eq!(verdict["preemptions"], 1);
    assert_eq!(verdict["early"], Value::Array(Vec::new()));
}

#[test]
fn a_run_reports_the_common_cause_of_its_failures_and_their_schedules_replay() {
    let workspace = Workspace::with_library(TESTS);
    let run = workspace.chess(&["test", "long_enough"]).run();
    run.assert_code(0);
    let printed = words(&run);
    assert!(
        printed.contains("the failures of 2 of 2 tests need early timeouts"),
        "{printed}"
    );
    assert!(
        printed.contains("0 passed, 0 failed, 2 timing"),
        "{printed}"
    );
    let json = workspace.chess(&["test", "long_enough", "--message-format", "json"]);
    for verdict in json.run().verdicts() {
        let schedule = verdict["schedule"].as_str().expect("it is saved");
        let replay = workspace.chess(&["replay", schedule]).run();
        replay.assert_code(100);
        assert!(words(&replay).contains("needs an early timeout: "));
        let explain = workspace.chess(&["explain", schedule]).run();
        assert!(words(&explain).contains("early (counts as a preemption)"));
    }
}

#[test]
fn early_timeouts_are_explored_only_where_a_task_waits_beside_others() {
    let alone = verdict("sleeps_alone", &[], 0);
    assert_eq!(alone["schedules"], 1);
    assert_eq!(alone["timers_last"], Value::Null);
    assert_eq!(alone["coverage"], "complete");
    let both = verdict("two_sleep", &["--strategy", "icb", "--preemptions", "9"], 0);
    // Both phases are complete: the one without early timeouts, and the one with them.
    assert_eq!(both["complete"], true);
    assert_eq!(both["coverage"], "complete");
}

#[test]
fn each_phase_reports_whether_it_is_complete() {
    let options = [
        "--strategy",
        "icb",
        "--preemptions",
        "9",
        "--schedules",
        "12",
    ];
    let verdict = verdict("two_sleep", &options, 0);
    assert_eq!(verdict["complete"], false);
    assert_eq!(verdict["timers_last"]["complete"], true);
}
