//! `dpor` runs exactly one execution for each happens-before graph, for ordinary programs on the
//! real engine.

use end_to_end::Workspace;
use serde_json::Value;

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::{self, AcqRel, Acquire, SeqCst}};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

fn locked(threads: usize, times: usize) {
    let counter = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || (0..times).for_each(|_| *counter.lock().unwrap() += 1))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn two_threads_lock_three_times() {
    locked(2, 3);
}

#[test]
fn three_threads_lock_once() {
    locked(3, 1);
}

#[test]
fn three_threads_lock_twice() {
    locked(3, 2);
}

#[test]
fn two_threads_add_five_times() {
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..5).for_each(|_| _ = sum.fetch_add(1, SeqCst)));
        }
    });
}

#[test]
fn three_threads_add_apart() {
    let sums = [const { AtomicUsize::new(0) }; 3];
    thread::scope(|scope| {
        for sum in &sums {
            scope.spawn(|| (0..2).for_each(|_| _ = sum.fetch_add(1, SeqCst)));
        }
    });
}

#[test]
fn three_readers() {
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(*lock.read().unwrap(), 1));
        }
    });
}

#[test]
fn store_buffering() {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| (x.store(1, SeqCst), y.load(SeqCst)));
        scope.spawn(|| (y.store(1, SeqCst), x.load(SeqCst)));
    });
}

#[test]
fn message_passing() {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| (x.store(1, SeqCst), y.store(1, SeqCst)));
        scope.spawn(|| (y.load(SeqCst), x.load(SeqCst)));
    });
}

#[test]
fn independent_reads_of_independent_writes() {
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| x.store(1, SeqCst));
        scope.spawn(|| y.store(1, SeqCst));
        scope.spawn(|| (x.load(SeqCst), y.load(SeqCst)));
        scope.spawn(|| (y.load(SeqCst), x.load(SeqCst)));
    });
}

/// Three threads, in ways that leave the value as it is.
fn keep(order: Ordering) {
    let value = AtomicUsize::new(1);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(value.swap(1, order), 1));
        scope.spawn(|| assert_eq!(value.fetch_max(1, order), 1));
        scope.spawn(|| assert_eq!(value.compare_exchange(1, 1, order, Acquire), Ok(1)));
    });
}

#[test]
fn three_threads_keep_a_value() {
    keep(Acquire);
}

/// Who comes later learns what others did before: each order is another graph.
#[test]
fn three_threads_keep_a_value_and_release() {
    keep(AcqRel);
}

#[test]
fn last_owner_drops() {
    struct Reports(Arc<AtomicUsize>);
    impl Drop for Reports {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let shared = Arc::new(Reports(drops.clone()));
    let other = thread::spawn({
        let shared = shared.clone();
        move || drop(shared)
    });
    drop(shared);
    other.join().unwrap();
    assert_eq!(drops.load(SeqCst), 1);
}
";

/// The number of executions of each test in theory: the number of orders of its operations that do
/// not commute.
const EXPECTED: [(&str, u64); 12] = [
    ("two_threads_lock_three_times", 20),
    ("three_threads_lock_once", 6),
    ("three_threads_lock_twice", 90),
    ("two_threads_add_five_times", 252),
    ("three_threads_add_apart", 1),
    ("three_readers", 1),
    ("store_buffering", 3),
    ("message_passing", 3),
    ("independent_reads_of_independent_writes", 15),
    ("three_threads_keep_a_value", 1),
    ("three_threads_keep_a_value_and_release", 6),
    ("last_owner_drops", 2),
];

#[test]
fn dpor_takes_one_execution_for_each_graph() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--strategy=dpor", "--message-format=json"];
    let run = workspace.chess(&args).run();
    run.assert_code(0);
    let verdicts = run.verdicts();
    for (name, executions) in EXPECTED {
        let of_name = |verdict: &&Value| verdict["test"] == name;
        let verdict = verdicts.iter().find(of_name).expect("each test has one");
        assert_eq!(verdict["schedules"], executions, "{name}");
        assert_eq!(verdict["distinct"], executions, "{name}");
        assert_eq!(verdict["complete"], true, "{name}");
    }
}
