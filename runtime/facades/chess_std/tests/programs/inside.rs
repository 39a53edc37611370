//! Tests to explore. `passed_`: no schedule may fail. `fails_by_panic_`: some
//! schedule must reach the panic, because std allows what leads there.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering::*};
use std::sync::mpsc::{channel, sync_channel, RecvTimeoutError, TrySendError};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

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
fn passed_try_lock_succeeds_where_nobody_holds_the_lock() {
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
fn fails_by_panic_what_an_initialiser_does_is_seen_before_its_value() {
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
fn fails_by_deadlock_a_barrier_that_nobody_else_reaches() {
    Barrier::new(2).wait();
}

// Channels

#[test]
fn passed_a_channel_keeps_each_senders_order() {
    let (tx, rx) = channel();
    let other = tx.clone();
    thread::scope(|s| {
        s.spawn(move || [1, 2].map(|n| tx.send(n).unwrap()));
        s.spawn(move || other.send(3).unwrap());
        let all: Vec<u8> = rx.iter().collect();
        assert_eq!(all.iter().filter(|n| **n != 3).collect::<Vec<_>>(), [&1, &2]);
        assert_eq!(all.len(), 3);
    });
}

#[test]
fn fails_by_panic_two_senders_are_in_no_order() {
    let (tx, rx) = sync_channel(2);
    let other = tx.clone();
    thread::scope(|s| {
        s.spawn(move || tx.send(1));
        s.spawn(move || other.send(2));
        assert_eq!(rx.into_iter().collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn passed_a_full_channel_blocks_its_senders() {
    let (tx, rx) = sync_channel(1);
    let sent = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            let (tx, sent) = (tx.clone(), &sent);
            s.spawn(move || {
                tx.send(()).unwrap();
                sent.fetch_add(1, SeqCst);
            });
        }
        assert!(sent.load(SeqCst) <= 1);
        rx.recv().unwrap();
        rx.recv().unwrap();
    });
}

#[test]
fn passed_a_rendezvous_gives_each_message_once() {
    let (tx, rx) = sync_channel(0);
    let other = tx.clone();
    thread::scope(|s| {
        let one = s.spawn(move || tx.send(1).is_ok());
        let two = s.spawn(move || other.send(2).is_ok());
        let first = rx.recv().unwrap();
        drop(rx);
        let results = [one.join().unwrap(), two.join().unwrap()];
        assert_eq!(results, [first == 1, first == 2]);
    });
}

#[test]
fn fails_by_panic_try_send_may_meet_a_receiver_that_waits() {
    let (tx, rx) = sync_channel(0);
    thread::scope(|s| {
        s.spawn(move || rx.recv());
        let result = tx.try_send(1);
        drop(tx);
        assert_eq!(result, Err(TrySendError::Full(1)));
    });
}

#[test]
fn fails_by_panic_try_send_may_come_too_early() {
    let (tx, rx) = sync_channel(0);
    thread::scope(|s| {
        s.spawn(move || rx.recv());
        let result = tx.try_send(1);
        drop(tx);
        assert_eq!(result, Ok(()));
    });
}

#[test]
fn fails_by_panic_recv_timeout_may_time_out() {
    let (tx, rx) = channel();
    thread::scope(|s| {
        s.spawn(move || tx.send(1));
        assert_eq!(rx.recv_timeout(MS), Ok(1));
    });
}

#[test]
fn passed_recv_timeout_loses_no_message() {
    let (tx, rx) = sync_channel(0);
    thread::scope(|s| {
        let sender = s.spawn(move || tx.send(1).is_ok());
        let received = rx.recv_timeout(MS);
        drop(rx);
        assert_eq!(sender.join().unwrap(), received.is_ok());
        assert_ne!(received, Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn passed_messages_are_dropped_with_their_receiver() {
    let shared = Arc::new(());
    let (tx, rx) = channel();
    thread::scope(|s| {
        let message = shared.clone();
        s.spawn(move || drop(tx.send(message)));
        drop(rx);
    });
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn fails_by_deadlock_a_receiver_whose_sender_lives_on() {
    let (tx, rx) = channel::<u8>();
    let _ = rx.recv();
    drop(tx);
}

// Threads

#[test]
fn passed_a_panic_that_is_joined_is_handled() {
    assert!(thread::spawn(|| panic!("handled")).join().is_err());
    assert!(thread::scope(|s| s.spawn(|| panic!("handled")).join().is_err()));
    assert!(quietly(|| thread::scope(|s| drop(s.spawn(|| panic!("becomes the scope's"))))));
}

#[test]
fn fails_by_panic_a_panic_that_nobody_joins() {
    drop(thread::spawn(|| panic!("detached")));
}

#[test]
fn passed_a_scope_waits_for_its_threads_even_when_it_panics() {
    let done = AtomicBool::new(false);
    assert!(quietly(|| thread::scope(|s| {
        s.spawn(|| done.store(true, SeqCst));
        panic!("early");
    })));
    assert!(done.into_inner());
}

#[test]
fn passed_threads_have_names_and_ids_of_their_own() {
    let me = thread::current();
    assert_eq!(me.name(), Some("passed_threads_have_names_and_ids_of_their_own"));
    let named = thread::Builder::new().name("worker".into()).stack_size(1 << 22);
    let worker = named.spawn(thread::current).unwrap();
    let (seen, id) = (worker.thread().clone(), worker.thread().id());
    let ids = HashSet::from([me.id(), id, thread::spawn(thread::current).join().unwrap().id()]);
    let own = worker.join().unwrap();
    assert_eq!((own.name(), own.id(), seen.name()), (Some("worker"), id, Some("worker")));
    assert_eq!(ids.len(), 3);
    assert_eq!(thread::available_parallelism().unwrap().get(), 2);
}

#[test]
fn passed_what_a_thread_captured_is_gone_when_it_has_ended() {
    let shared = Arc::new(());
    let captured = shared.clone();
    thread::spawn(move || drop(Arc::downgrade(&captured))).join().unwrap();
    assert_eq!(Arc::strong_count(&shared), 1);
    let result = shared.clone();
    drop(thread::spawn(move || result).join().unwrap());
    assert_eq!(Arc::into_inner(shared), Some(()));
}

#[test]
fn fails_by_panic_a_thread_may_have_finished() {
    assert!(!thread::spawn(|| {}).is_finished());
}

#[test]
fn passed_an_early_unpark_is_not_lost() {
    let go = AtomicBool::new(false);
    let me = thread::current();
    thread::scope(|s| {
        s.spawn(|| {
            go.store(true, SeqCst);
            me.unpark();
        });
        while !go.load(SeqCst) {
            thread::park();
        }
    });
}

#[test]
fn fails_by_panic_a_park_may_end_for_no_reason() {
    let go = AtomicBool::new(false);
    let me = thread::current();
    thread::scope(|s| {
        s.spawn(|| {
            go.store(true, SeqCst);
            me.unpark();
        });
        thread::park();
        assert!(go.load(SeqCst));
    });
}

#[test]
fn fails_by_panic_a_sleep_orders_nothing() {
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| done.store(true, SeqCst));
        thread::sleep(MS);
        assert!(done.load(SeqCst));
    });
}

#[test]
fn passed_time_moves_on() {
    let start = Instant::now();
    thread::sleep(MS);
    thread::park_timeout(MS);
    assert!(start.elapsed() >= MS);
}

#[test]
fn passed_thread_locals_are_each_threads_own() {
    thread_local!(static LOCAL: Cell<u8> = const { Cell::new(0) });
    thread::scope(|s| {
        for n in 1..3 {
            s.spawn(move || {
                LOCAL.set(n);
                thread::yield_now();
                assert_eq!(LOCAL.get(), n);
            });
        }
    });
    assert_eq!(LOCAL.get(), 0);
}

#[test]
fn passed_what_threads_print_is_captured() {
    thread::spawn(|| println!("from a thread")).join().unwrap();
}

// Arc

#[test]
fn fails_by_panic_two_drops_may_both_see_the_other() {
    let shared = Arc::new(1);
    let other = shared.clone();
    let thread = thread::spawn(move || Arc::try_unwrap(other).is_ok());
    let mine = Arc::try_unwrap(shared).is_ok();
    assert!(thread.join().unwrap() || mine);
}

#[test]
fn passed_into_inner_gives_the_value_to_one() {
    let shared = Arc::new(1);
    let other = shared.clone();
    let thread = thread::spawn(move || Arc::into_inner(other).is_some());
    let mine = Arc::into_inner(shared).is_some();
    assert_ne!(thread.join().unwrap(), mine);
}

#[test]
fn fails_by_panic_a_weak_may_outlive_the_value() {
    let shared = Arc::new(1);
    let weak = Arc::downgrade(&shared);
    let thread = thread::spawn(move || drop(shared));
    assert!(weak.upgrade().is_some());
    thread.join().unwrap();
}

#[test]
fn passed_a_waker_from_another_thread() {
    struct Unparks(thread::Thread, AtomicBool);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.1.store(true, SeqCst);
            self.0.unpark();
        }
    }
    let unparks = Arc::new(Unparks(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(unparks.clone());
    let thread = thread::spawn(move || waker.wake());
    while !unparks.1.load(SeqCst) {
        thread::park();
    }
    thread.join().unwrap();
}
