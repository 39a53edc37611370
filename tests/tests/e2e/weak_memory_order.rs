//! `--memory c11`: the order that the objects of std give to relaxed stores and loads.

use end_to_end::Workspace;

const JSON: [&str; 3] = ["--no-fail-fast", "--message-format", "json"];

/// Tests of operations that order a relaxed store before a relaxed load. In the tests whose names
/// begin with `none`, the operations do not order them.
const ORDERS: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;

/// Runs `before` after a relaxed store, and a relaxed load if `after` returns true.
fn ordered(before: impl FnOnce() + Send, after: impl FnOnce() -> bool) {
    let data = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            before();
        });
        if after() {
            assert_eq!(data.load(Relaxed), 1);
        }
    });
}

#[test]
fn mutex() {
    let done = Mutex::new(false);
    ordered(|| *done.lock().unwrap() = true, || *done.lock().unwrap());
}

#[test]
fn none_mutex_that_is_held() {
    let held = Mutex::new(());
    ordered(|| _ = held.lock(), || held.try_lock().is_err());
}

#[test]
fn rw_lock() {
    let done = RwLock::new(false);
    ordered(|| *done.write().unwrap() = true, || *done.read().unwrap());
}

#[test]
fn condvar() {
    let (done, changed) = (Mutex::new(false), Condvar::new());
    ordered(
        || {
            *done.lock().unwrap() = true;
            changed.notify_one();
        },
        || *changed.wait_while(done.lock().unwrap(), |done| !*done).unwrap(),
    );
}

#[test]
fn channel() {
    let (sender, receiver) = mpsc::channel();
    ordered(move || sender.send(()).unwrap(), || receiver.try_recv().is_ok());
}

#[test]
fn barrier() {
    let barrier = Barrier::new(2);
    ordered(|| _ = barrier.wait(), || {
        barrier.wait();
        true
    });
}

#[test]
fn once() {
    let once = Once::new();
    ordered(|| once.call_once(|| ()), || once.is_completed());
}

#[test]
fn once_lock() {
    let once = OnceLock::new();
    ordered(|| _ = once.set(()), || once.get().is_some());
}

#[test]
fn lazy_lock() {
    static DATA: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<()> = LazyLock::new(|| DATA.store(1, Relaxed));
    DATA.store(0, Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| *LAZY);
        *LAZY;
        assert_eq!(DATA.load(Relaxed), 1);
    });
}

#[test]
fn park() {
    let main = thread::current();
    let data = AtomicUsize::new(0);
    let parked = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            parked.store(1, Relaxed);
            main.unpark();
        });
        thread::park();
        // It may have woken spuriously.
        if parked.load(Relaxed) == 0 {
            thread::park();
        }
    });
}

#[test]
fn join() {
    let data = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&data);
    thread::spawn(move || other.store(1, Relaxed)).join().unwrap();
    assert_eq!(data.load(Relaxed), 1);
}

#[test]
fn none_end_that_is_seen() {
    static DATA: AtomicUsize = AtomicUsize::new(0);
    DATA.store(0, Relaxed);
    let other = thread::spawn(|| DATA.store(1, Relaxed));
    if other.is_finished() {
        assert_eq!(DATA.load(Relaxed), 1);
    }
    other.join().unwrap();
}

fn owned(is_last: impl FnOnce(&mut Arc<()>) -> bool) {
    let mut first = Arc::new(());
    let second = Arc::clone(&first);
    ordered(move || drop(second), || is_last(&mut first));
}

#[test]
fn last_owner_that_gets_the_value() {
    owned(|first| Arc::get_mut(first).is_some());
}

#[test]
fn none_count_of_owners() {
    owned(|first| Arc::strong_count(first) == 1);
}

/// Memory that is written without an atomic operation.
#[test]
fn exclusive_access() {
    let mut data = AtomicUsize::new(0);
    thread::scope(|scope| _ = scope.spawn(|| data.store(1, Relaxed)));
    *data.get_mut() = 2;
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(data.load(Relaxed), 2));
    });
    data = AtomicUsize::new(3);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(data.load(Relaxed), 3));
    });
}
";

#[test]
fn operations_other_than_atomics_give_the_order_that_std_documents() {
    let workspace = Workspace::with_library(ORDERS);
    for strategy in ["icb", "dpor"] {
        let args = ["test", "--memory", "c11", "--preemptions", "3"];
        let args = [&args[..], &["--strategy", strategy]].concat();
        let run = workspace.chess(&[&args[..], &JSON].concat()).run();
        run.assert_code(100);
        assert_eq!(run.verdicts().len(), 15);
        for verdict in run.verdicts() {
            let has_none = verdict["test"]
                .as_str()
                .expect("a test")
                .starts_with("none");
            let outcome = if has_none { "failed" } else { "passed" };
            assert_eq!(verdict["outcome"], outcome, "{strategy}: {verdict}");
            if has_none {
                assert_eq!(verdict["minimised"]["weak"], true, "{verdict}");
            }
        }
    }
}
