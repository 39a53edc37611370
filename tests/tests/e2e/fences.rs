//! Fences of all threads at once: the system call `membarrier`.

use end_to_end::Workspace;

const PROGRAM: &str = r"
#![cfg(test)]
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::thread;

unsafe extern {
    fn syscall(number: i64, ...) -> i64;
}

fn membarrier() {
    const MEMBARRIER: i64 = 324;
    const REGISTER: i64 = 16;
    const FENCE: i64 = 8;
    for command in [REGISTER, FENCE] {
        assert_eq!(unsafe { syscall(MEMBARRIER, command, 0_i64, 0_i64) }, 0);
    }
}

/// A value that a writer replaces and frees, and what a reader announces.
struct Shared {
    value: AtomicPtr<u32>,
    hazard: AtomicPtr<u32>,
    reads: AtomicBool,
}

/// Runs `read` beside a writer, which calls `may_free` before it frees the old value.
fn beside(read: impl Fn(&Shared) + Sync, may_free: impl Fn(&Shared, *mut u32) -> bool) {
    let shared = Shared {
        value: AtomicPtr::new(Box::into_raw(Box::new(1))),
        hazard: AtomicPtr::new(ptr::null_mut()),
        reads: AtomicBool::new(false),
    };
    let mut left = None;
    thread::scope(|scope| {
        scope.spawn(|| read(&shared));
        let old = shared.value.swap(Box::into_raw(Box::new(2)), AcqRel);
        if may_free(&shared, old) {
            drop(unsafe { Box::from_raw(old) });
        } else {
            left = Some(old);
        }
    });
    drop(left.map(|old| unsafe { Box::from_raw(old) }));
    drop(unsafe { Box::from_raw(shared.value.into_inner()) });
}

fn check(value: *mut u32) {
    assert!((1..3).contains(&unsafe { *value }));
}

/// Whether no reader announces a read.
fn is_unread(shared: &Shared, _: *mut u32) -> bool {
    membarrier();
    let is_read = shared.reads.load(Relaxed);
    membarrier();
    !is_read
}

/// The reader does not announce its read.
#[test]
fn racing_without_announcement() {
    let may_free = |_: &Shared, _| {
        membarrier();
        true
    };
    beside(|shared| check(shared.value.load(Acquire)), may_free);
}

/// The reader ends its announcement before the read.
#[test]
fn racing_after_the_announcement() {
    let read = |shared: &Shared| {
        shared.reads.store(true, Relaxed);
        let value = shared.value.load(Acquire);
        shared.reads.store(false, Relaxed);
        check(value);
    };
    beside(read, is_unread);
}

/// A hazard pointer.
#[test]
fn fine_with_a_hazard_pointer() {
    let read = |shared: &Shared| {
        let value = shared.value.load(Relaxed);
        shared.hazard.store(value, Relaxed);
        if shared.value.load(Acquire) == value {
            check(value);
        }
        shared.hazard.store(ptr::null_mut(), Release);
    };
    let may_free = |shared: &Shared, old| {
        membarrier();
        shared.hazard.load(Acquire) != old
    };
    beside(read, may_free);
}

/// Readers of user-space RCU: a flag, whose stores need no order of their own.
#[test]
fn fine_with_a_flag() {
    let read = |shared: &Shared| {
        shared.reads.store(true, Relaxed);
        check(shared.value.load(Acquire));
        shared.reads.store(false, Relaxed);
    };
    beside(read, is_unread);
}
";

#[test]
fn an_access_that_may_come_after_a_fence_of_all_threads_is_not_ordered_by_it() {
    let workspace = Workspace::with_library(PROGRAM);
    for strategy in ["auto", "icb"] {
        let args = ["test", "--no-fail-fast", "--message-format=json"];
        let run = workspace.chess(&[&args[..], &["--strategy", strategy]].concat());
        let run = run.run();
        run.assert_code(100);
        let verdicts = run.verdicts();
        assert_eq!(verdicts.len(), 4);
        for verdict in verdicts {
            let races = verdict["test"].as_str().unwrap().starts_with("racing");
            let expected = if races { "failed" } else { "passed" };
            assert_eq!(verdict["outcome"], expected, "{strategy}: {verdict}");
        }
    }
}
