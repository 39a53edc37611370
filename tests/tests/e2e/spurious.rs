//! Spurious events that `std` allows are explored and reported. `--spurious never` leaves them out.

use end_to_end::Workspace;

const TESTS: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

#[test]
fn waits_once() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let mut ready = ready.lock().unwrap();
        if !*ready {
            ready = changed.wait(ready).unwrap();
        }
        assert!(*ready);
    });
}

#[test]
fn parks_once() {
    let ready = AtomicBool::new(false);
    let main = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            ready.store(true, SeqCst);
            main.unpark();
        });
        thread::park();
        assert!(ready.load(SeqCst));
    });
}

#[test]
fn exchanges_once() {
    let ready = AtomicBool::new(false);
    assert!(ready.compare_exchange_weak(false, true, SeqCst, SeqCst).is_ok());
}

/// Fails with nothing spurious, too.
#[test]
fn looks_and_waits() {
    let (ready, lock, changed) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            ready.store(true, SeqCst);
            changed.notify_one();
        });
        while !ready.load(SeqCst) {
            drop(changed.wait(lock.lock().unwrap()).unwrap());
        }
    });
}
";

const NEVER: [&str; 3] = ["test", "--spurious=never", "--exact"];

#[track_caller]
fn assert_printed(test: &str, sentence: &str) {
    let workspace = Workspace::with_library(TESTS);
    let tried = workspace.chess(&["test", "--exact", test]).run();
    tried.assert_code(100);
    let message = tried.message();
    let printed: Vec<_> = message.split_whitespace().collect();
    assert!(printed.join(" ").contains(sentence), "{message}");
    let never = workspace
        .chess(&NEVER)
        .arg(test)
        .arg("--message-format=json")
        .run();
    never.assert_code(0);
    let verdict = never.verdict();
    let coverage = verdict["coverage"].as_str().unwrap_or_default();
    assert!(
        coverage.ends_with(", without spurious events"),
        "{coverage}"
    );
}

#[test]
fn a_spurious_wakeup_of_a_wait_is_reported() {
    assert_printed(
        "waits_once",
        "the wait of main at src/lib.rs:17 ends spuriously, as its documentation permits. \
         `--spurious never` excludes such schedules.",
    );
}

#[test]
fn a_spurious_return_of_a_park_is_reported() {
    assert_printed(
        "parks_once",
        "the wait of main at src/lib.rs:32 ends spuriously",
    );
}

#[test]
fn a_spurious_failure_of_an_exchange_is_reported() {
    assert_printed(
        "exchanges_once",
        "the weak exchange of main at src/lib.rs:40 fails spuriously",
    );
}

#[test]
fn a_schedule_states_that_no_spurious_event_was_tried() {
    let workspace = Workspace::with_library(TESTS);
    let found = workspace
        .chess(&NEVER)
        .arg("looks_and_waits")
        .arg("--message-format=json")
        .run();
    found.assert_code(100);
    let verdict = found.verdict();
    assert_eq!(verdict["kind"], "deadlock", "{verdict}");
    let schedule = verdict["schedule"].as_str().expect("it is saved");
    let saved = std::fs::read_to_string(workspace.root().join(schedule)).expect("it is there");
    assert!(saved.contains("\nspurious = \"never\"\n"), "{saved}");
    workspace
        .chess(&["replay", schedule])
        .run()
        .assert_code(100);
}

#[test]
fn excluded_events_are_left_out_of_the_guarantee() {
    let workspace = Workspace::with_library(TESTS);
    let run = workspace.chess(&NEVER).arg("waits_once").run();
    run.assert_code(0);
    assert!(
        run.message().contains(", without spurious events"),
        "{}",
        run.message()
    );
}
