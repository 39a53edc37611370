//! A failure that needs time to pass early says so, and how to leave such schedules out.

use end_to_end::Workspace;

const TESTS: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

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
fn nobody_sends() {
    let (_sender, receiver) = mpsc::channel::<u32>();
    assert!(receiver.recv_timeout(Duration::from_secs(30)).is_ok());
}
";

fn failure(test: &str) -> String {
    let workspace = Workspace::with_library(TESTS);
    let run = workspace.chess(&["test", "--exact", test]).run();
    run.assert_code(100);
    run.message()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn assert_told(test: &str, sentence: &str, note: &str) {
    let told = failure(test);
    assert!(told.contains(sentence), "{told}");
    assert!(told.contains(note), "{told}");
    let workspace = Workspace::with_library(TESTS);
    let last = ["test", "--exact", test, "--timers", "last"];
    workspace.chess(&last).run().assert_code(0);
}

#[test]
fn a_sleep_that_ends_early_is_told() {
    assert_told(
        "sleeps_long_enough",
        "time passes early: that of main at src/lib.rs:13 (sleep) is over while other tasks could \
         still go on. `--timers last` lets",
        "sleep src/lib.rs:13 ^ ended early (counts as a preemption)",
    );
}

#[test]
fn a_time_limit_that_ends_early_is_told() {
    assert_told(
        "waits_long_enough",
        "time passes early: that of main at src/lib.rs:22 (",
        "timed out early (counts as a preemption)",
    );
}

#[test]
fn a_time_limit_that_ends_when_nothing_else_can_go_on_is_not_early() {
    let told = failure("nobody_sends");
    assert!(told.contains("timed out"), "{told}");
    assert!(!told.contains("early"), "{told}");
}
