//! Tests to explore: channels, threads, `Arc`. The names have the same meaning as in
//! `inside_locks.rs`.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{fence, AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::{channel, sync_channel, RecvTimeoutError, TrySendError};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn quietly<T>(f: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
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
fn passed_a_panic_of_the_first_schedule_that_no_thread_joins() {
    drop(thread::spawn(|| panic!("detached")));
}

#[test]
fn fails_by_panic_a_panic_of_a_later_schedule_that_no_thread_joins() {
    let is_done = Arc::new(AtomicBool::new(false));
    let seen = is_done.clone();
    drop(thread::spawn(move || assert!(seen.load(SeqCst), "detached")));
    is_done.store(true, SeqCst);
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
fn passed_the_captured_values_of_a_thread_are_dropped_at_its_end() {
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
fn passed_the_output_of_threads_is_captured() {
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

#[test]
fn passed_a_loop_of_loads_and_fences_gives_way() {
    static READY: AtomicBool = AtomicBool::new(false);
    let thread = thread::spawn(|| READY.store(true, SeqCst));
    while !READY.load(SeqCst) {
        fence(SeqCst);
    }
    thread.join().unwrap();
}

#[test]
fn passed_a_stack_that_no_system_has_is_an_error() {
    let huge = || thread::Builder::new().stack_size(isize::MAX as usize);
    assert_eq!(huge().spawn(|| ()).unwrap_err().kind(), ErrorKind::WouldBlock);
    thread::scope(|scope| assert!(huge().spawn_scoped(scope, || ()).is_err()));
}
