//! Tests to explore: atomics, locks, condition variables, initialisation, barriers. `passed_`: no
//! schedule may fail. `fails_by_panic_` and `fails_by_deadlock_`: some schedule must fail in this
//! way, because std allows the behaviour that leads to the failure.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering::*};
use std::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn quietly<T>(f: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

// Atomics

#[test]
fn passed_read_modify_writes_are_one_step() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| n.fetch_add(1, SeqCst));
        s.spawn(|| n.update(SeqCst, SeqCst, |n| n + 1));
    });
    assert_eq!(n.load(SeqCst), 2);
}

#[test]
fn fails_by_panic_a_load_and_a_store_are_two_steps() {
    let n = AtomicU8::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| n.store(n.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(n.into_inner(), 2);
}

#[test]
fn fails_by_panic_a_weak_exchange_may_fail_for_no_reason() {
    let flag = AtomicBool::new(false);
    flag.compare_exchange_weak(false, true, SeqCst, SeqCst).unwrap();
}

#[test]
fn passed_a_strong_exchange_fails_only_for_a_reason() {
    let mut value = 1;
    let pointer = AtomicPtr::<u8>::default();
    pointer.compare_exchange(std::ptr::null_mut(), &mut value, SeqCst, SeqCst).unwrap();
    assert!(pointer.compare_exchange(std::ptr::null_mut(), &mut value, SeqCst, SeqCst).is_err());
}

// Locks

#[test]
fn passed_a_mutex_excludes() {
    let m = Mutex::new((0, 0));
    let checked = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut pair = m.lock().unwrap();
                pair.0 += 1;
                checked.store(true, SeqCst);
                pair.1 += 1;
            });
        }
        let pair = m.lock().unwrap();
        assert_eq!(pair.0, pair.1);
    });
    assert_eq!(*m.lock().unwrap(), (2, 2));
}

#[test]
fn fails_by_panic_try_lock_may_find_the_lock_taken() {
    let m = Mutex::new(0);
    thread::scope(|s| {
        s.spawn(|| *m.lock().unwrap() += 1);
        assert!(m.try_lock().is_ok());
    });
}

#[test]
fn passed_try_lock_succeeds_where_no_task_holds_the_lock() {
    let m = Mutex::new(0);
    thread::scope(|s| {
        s.spawn(|| *m.lock().unwrap() += 1).join().unwrap();
        assert!(m.try_lock().is_ok());
    });
    assert!(RwLock::new(0).try_write().is_ok());
}

#[test]
fn passed_poison_reaches_whoever_locks_next() {
    let m = Mutex::new(0);
    thread::scope(|s| {
        let failing = s.spawn(|| {
            let _guard = m.lock().unwrap();
            panic!("poisons");
        });
        assert!(failing.join().is_err());
    });
    assert!(m.is_poisoned() && m.lock().is_err());
    m.clear_poison();
    assert!(m.lock().is_ok());
}

#[test]
fn passed_printing_a_mutex_whose_value_locks_another() {
    struct Locks(Mutex<u8>);
    impl std::fmt::Debug for Locks {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.0.lock().unwrap())
        }
    }
    let outer = Mutex::new(Locks(Mutex::new(1)));
    thread::scope(|s| {
        s.spawn(|| format!("{outer:?}"));
        drop(outer.lock().unwrap());
    });
}

#[test]
fn passed_readers_share_and_a_writer_excludes() {
    let lock = RwLock::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            let mut guard = lock.write().unwrap();
            *guard = 1;
            *guard = 2;
            let read = RwLockWriteGuard::downgrade(guard);
            assert_eq!(*read, 2);
        });
        let one = lock.read().unwrap();
        assert_ne!(*one, 1);
        assert!(lock.try_write().is_err());
    });
    let one = lock.read().unwrap();
    let two = lock.read().unwrap();
    assert_eq!(*one + *two, 4);
}

#[test]
fn fails_by_deadlock_locking_a_mutex_twice() {
    let m = Mutex::new(0);
    let _one = m.lock();
    let _two = m.lock();
}

// Condition variables

#[test]
fn passed_a_wait_in_a_loop_ends() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let ready = changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
        assert!(*ready);
    });
}

#[test]
fn fails_by_panic_a_wait_may_end_for_no_reason() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let guard = ready.lock().unwrap();
        if !*guard {
            assert!(*changed.wait(guard).unwrap());
        }
    });
}

#[test]
fn fails_by_panic_a_timed_wait_may_time_out() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let guard = ready.lock().unwrap();
        let (_guard, result) = changed.wait_timeout_while(guard, MS, |ready| !*ready).unwrap();
        assert!(!result.timed_out());
    });
}

#[test]
fn fails_by_panic_a_timed_wait_may_be_notified() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let guard = ready.lock().unwrap();
        let (_guard, result) = changed.wait_timeout_while(guard, MS, |ready| !*ready).unwrap();
        assert!(result.timed_out());
    });
}

#[test]
fn fails_by_panic_notify_one_wakes_any_waiter() {
    let (state, changed) = (Mutex::new((0, None)), Condvar::new());
    thread::scope(|s| {
        for me in 0..2 {
            let (state, changed) = (&state, &changed);
            s.spawn(move || {
                let mut guard = state.lock().unwrap();
                guard.0 += 1;
                let mut guard = changed.wait_while(guard, |state| state.0 < 3).unwrap();
                guard.1.get_or_insert(me);
            });
        }
        loop {
            let mut guard = state.lock().unwrap();
            if guard.0 == 2 {
                guard.0 = 3;
                drop(guard);
                changed.notify_one();
                changed.notify_one();
                break;
            }
            drop(guard);
            thread::yield_now();
        }
    });
    assert_eq!(state.into_inner().unwrap().1, Some(0));
}

#[test]
fn fails_by_deadlock_a_notification_before_the_wait_is_lost() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| changed.notify_one());
        drop(changed.wait(ready.lock().unwrap()));
    });
}

// Initialisation

#[test]
fn passed_once_runs_once_and_all_wait_for_it() {
    let (once, runs) = (Once::new(), AtomicU8::new(0));
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                once.call_once(|| {
                    runs.fetch_add(1, SeqCst);
                    runs.fetch_add(1, SeqCst);
                });
                assert_eq!(runs.load(SeqCst), 2);
            });
        }
        once.wait_force();
    });
    assert!(once.is_completed());
}

#[test]
fn passed_a_poisoned_once_may_be_forced() {
    let once = Once::new();
    thread::scope(|s| {
        let first = s.spawn(|| quietly(|| once.call_once(|| panic!("poisons"))));
        let mut seen = false;
        once.call_once_force(|state| seen = state.is_poisoned());
        assert!(first.join().unwrap() || !seen);
    });
    once.wait();
}

#[test]
fn fails_by_deadlock_an_initialiser_that_asks_for_its_own_value() {
    static CELL: OnceLock<u8> = OnceLock::new();
    CELL.get_or_init(|| *CELL.get_or_init(|| 1));
}

#[test]
fn fails_by_deadlock_two_lazies_that_need_each_other() {
    static A: LazyLock<u8> = LazyLock::new(|| *B);
    static B: LazyLock<u8> = LazyLock::new(|| *A);
    thread::scope(|s| {
        s.spawn(|| *A);
        s.spawn(|| *B);
    });
}

#[test]
fn fails_by_panic_the_effects_of_an_initialiser_are_seen_before_its_value() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    static LAZY: LazyLock<u8> = LazyLock::new(|| {
        STARTED.store(true, SeqCst);
        1
    });
    thread::scope(|s| {
        s.spawn(|| *LAZY);
        assert!(!STARTED.load(SeqCst) || LazyLock::get(&LAZY).is_some());
    });
}

#[test]
fn passed_one_of_two_sets_succeeds() {
    let cell = OnceLock::new();
    thread::scope(|s| {
        let one = s.spawn(|| cell.set(1).is_ok());
        let two = s.spawn(|| cell.set(2).is_ok());
        let value = *cell.wait();
        assert_eq!(Some(&value), cell.get());
        assert_ne!(one.join().unwrap(), two.join().unwrap());
    });
}

// Barriers

#[test]
fn passed_a_barrier_has_one_leader_each_time() {
    let (barrier, before) = (Barrier::new(2), AtomicU8::new(0));
    let leaders: usize = thread::scope(|s| {
        let meet = || {
            before.fetch_add(1, SeqCst);
            let first = barrier.wait().is_leader();
            assert_eq!(before.load(SeqCst), 2);
            usize::from(first) + usize::from(barrier.wait().is_leader())
        };
        let other = s.spawn(meet);
        meet() + other.join().unwrap()
    });
    assert_eq!(leaders, 2);
}

#[test]
fn fails_by_deadlock_a_barrier_that_no_other_task_reaches() {
    Barrier::new(2).wait();
}
