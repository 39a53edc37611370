//! Of several panics, the report names the one that made the test fail, and mentions the others.

use end_to_end::Workspace;

/// The assertions of each test hold unless the spawned thread runs at once.
const PANICS: &str = r#"
#![cfg(test)]
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);

fn early() -> bool {
    let spawned = thread::spawn(|| READY.store(true, SeqCst));
    let early = READY.load(SeqCst);
    spawned.join().unwrap();
    early
}

#[test]
fn caught_then_real() {
    let early = early();
    let _ = catch_unwind(|| panic!("caught on purpose"));
    assert!(!early, "the thread was first");
}

#[test]
fn ignored_then_real() {
    let _ = thread::spawn(|| panic!("ignored on purpose")).join();
    assert!(!early(), "the thread was first");
}

#[test]
fn joined() {
    let early = early();
    thread::spawn(move || assert!(!early, "the thread was first")).join().unwrap();
}

#[test]
fn scoped() {
    let early = early();
    thread::scope(|scope| {
        scope.spawn(move || assert!(!early, "the thread was first"));
    });
}

#[test]
fn resumed() {
    let early = early();
    let _ = catch_unwind(|| panic!("caught on purpose"));
    if let Err(payload) = thread::spawn(move || assert!(!early, "the thread was first")).join() {
        resume_unwind(payload);
    }
}

#[test]
fn poisoned() {
    let early = early();
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let _ = thread::spawn(move || {
        let _held = other.lock();
        assert!(!early, "the thread was first");
    })
    .join();
    *lock.lock().unwrap() += 1;
}

#[test]
fn hung_up() {
    let early = early();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        assert!(!early, "the thread was first");
        sender.send(1).unwrap();
    });
    assert_eq!(receiver.recv().unwrap(), 1);
}

#[test]
fn waits_for_a_thread_that_panicked() {
    let early = early();
    let done = Arc::new(AtomicU32::new(0));
    let there = done.clone();
    thread::spawn(move || {
        assert!(!early, "the thread was first");
        there.store(1, SeqCst);
    });
    while done.load(SeqCst) == 0 {
        thread::yield_now();
    }
}

#[test]
fn detached() {
    let early = early();
    thread::spawn(move || assert!(!early, "the thread was first"));
}
"#;

/// Returns the lines of a report before the execution of each failure, and the lines in which a
/// task panics.
fn printed(report: &str) -> String {
    let mut printed = String::new();
    let mut in_heading = false;
    for line in report.lines() {
        let begins = line.starts_with("panic: ") || line.starts_with("livelock: ");
        in_heading = (in_heading || begins) && !line.contains("The failing execution");
        if in_heading || line.contains("panics at") {
            printed += line;
            printed.push('\n');
        }
    }
    printed
}

#[test]
fn the_panic_that_made_the_test_fail_is_reported_with_its_causes_and_consequences() {
    let workspace = Workspace::with_library(PANICS);
    let run = workspace.chess(&["test", "--no-fail-fast"]).run();
    run.assert_code(100);
    insta::assert_snapshot!(printed(&run.message()));
}

#[test]
fn a_panic_with_the_expected_message_may_come_from_another_thread() {
    let workspace = Workspace::with_library(
        r#"
#[test]
#[should_panic(expected = "boom")]
fn resumed() {
    let caught = std::thread::spawn(|| panic!("boom")).join();
    std::panic::resume_unwind(caught.unwrap_err());
}

#[test]
#[should_panic(expected = "boom")]
fn another_was_resumed() {
    let caught = std::thread::spawn(|| panic!("bang")).join();
    std::panic::resume_unwind(caught.unwrap_err());
}
"#,
    );
    let run = workspace.chess(&["test", "--no-fail-fast"]).run();
    run.assert_code(100);
    let said = run.message();
    assert!(said.contains("Passed small resumed"), "{said}");
    assert!(said.contains("Failed small another_was_resumed"), "{said}");
}
