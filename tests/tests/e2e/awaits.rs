//! Tests of waiting loops: an iteration that changed nothing is not repeated. An iteration that
//! changed anything is repeated.

use end_to_end::Workspace;

const LIBRARY: &str = r#"
#![cfg(test)]
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::{AcqRel, Acquire, SeqCst}};
use std::{hint, thread};

/// Waits for a flag that is set after the data.
fn waits(pause: fn()) {
    let (data, flag) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, SeqCst);
            flag.store(true, SeqCst);
        });
        while !flag.load(SeqCst) {
            pause();
        }
        assert_eq!(data.load(SeqCst), 1);
    });
}

#[test]
fn waits_with_yields() {
    waits(thread::yield_now);
}

#[test]
fn waits_with_hints() {
    waits(hint::spin_loop);
}

#[test]
fn waits_with_nothing() {
    waits(|| {});
}

#[test]
fn takes_a_spin_lock() {
    let (locked, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while locked.swap(true, SeqCst) {
                    while locked.load(SeqCst) {
                        hint::spin_loop();
                    }
                }
                count.store(count.load(SeqCst) + 1, SeqCst);
                locked.store(false, SeqCst);
            });
        }
    });
    assert_eq!(count.load(SeqCst), 2);
}

/// Two threads take a lock by what leaves it as it is while it is taken.
fn takes(is_taken: impl Fn(&AtomicBool) -> bool + Sync, pause: fn()) {
    let (locked, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while is_taken(&locked) {
                    pause();
                }
                count.store(count.load(SeqCst) + 1, SeqCst);
                locked.store(false, SeqCst);
            });
        }
    });
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn takes_a_lock_by_swaps() {
    takes(|locked| locked.swap(true, Acquire), hint::spin_loop);
}

#[test]
fn takes_a_lock_by_swaps_with_nothing() {
    takes(|locked| locked.swap(true, Acquire), || {});
}

/// They release, too.
#[test]
fn takes_a_lock_by_updates() {
    takes(|locked| locked.fetch_or(true, AcqRel), thread::yield_now);
}

#[test]
fn takes_a_lock_by_updates_with_nothing() {
    takes(|locked| locked.fetch_or(true, AcqRel), || {});
}

#[test]
fn takes_a_lock_by_exchanges() {
    let (locked, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while locked.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                    hint::spin_loop();
                }
                count.store(count.load(SeqCst) + 1, SeqCst);
                locked.store(false, SeqCst);
            });
        }
    });
    assert_eq!(count.load(SeqCst), 3);
}

/// Writes two words, and reads them until it has both of one time.
#[test]
fn reads_behind_a_sequence_lock() {
    let [number, first, second] = [const { AtomicUsize::new(0) }; 3];
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 1..3 {
                number.fetch_add(1, SeqCst);
                first.store(value, SeqCst);
                second.store(value, SeqCst);
                number.fetch_add(1, SeqCst);
            }
        });
        let (first, second) = loop {
            let before = number.load(SeqCst);
            if before & 1 == 0 {
                let values = (first.load(SeqCst), second.load(SeqCst));
                if number.load(SeqCst) == before {
                    break values;
                }
            }
            hint::spin_loop();
        };
        assert_eq!(first, second);
    });
}

/// Waits for one of two flags without a yield; whether the first one was seen to be set.
fn waits_for_either(set: impl FnOnce([&AtomicBool; 2]) + Send) -> bool {
    let flags = [const { AtomicBool::new(false) }; 2];
    thread::scope(|scope| {
        scope.spawn(|| set([&flags[0], &flags[1]]));
        loop {
            if flags[0].load(SeqCst) {
                break true;
            }
            if flags[1].load(SeqCst) {
                break false;
            }
        }
    })
}

#[test]
fn either_of_two_flags() {
    waits_for_either(|[_, second]| second.store(true, SeqCst));
    waits_for_either(|[first, second]| {
        first.store(true, SeqCst);
        second.store(true, SeqCst);
    });
}

#[test]
fn the_first_flag_is_set_for_a_moment() {
    let saw_first = waits_for_either(|[first, second]| {
        first.store(true, SeqCst);
        first.store(false, SeqCst);
        second.store(true, SeqCst);
    });
    assert!(!saw_first, "it saw the moment");
}

#[test]
fn the_second_flag_is_set_for_a_moment() {
    let saw_first = waits_for_either(|[first, second]| {
        second.store(true, SeqCst);
        second.store(false, SeqCst);
        first.store(true, SeqCst);
    });
    assert!(saw_first, "it saw the moment");
}

/// Gives up after three turns. The other task must not be able to tell that it has.
fn gives_up(mut turn: impl FnMut() -> u32) {
    let (flag, gave_up) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!gave_up.load(SeqCst), "it gave up");
            flag.store(true, SeqCst);
        });
        while !flag.load(SeqCst) {
            if turn() == 3 {
                gave_up.store(true, SeqCst);
                break;
            }
            hint::spin_loop();
        }
    });
}

#[test]
fn counts_on_the_stack() {
    let mut turns = 0;
    gives_up(|| {
        turns += 1;
        turns
    });
}

#[test]
fn counts_on_the_heap() {
    let turns = Box::new(Cell::new(0));
    gives_up(|| {
        turns.set(turns.get() + 1);
        turns.get()
    });
}

#[test]
fn counts_in_a_thread_local() {
    thread_local!(static TURNS: Cell<u32> = const { Cell::new(0) });
    gives_up(|| {
        TURNS.set(TURNS.get() + 1);
        TURNS.get()
    });
}

#[test]
fn counts_in_a_static() {
    static mut TURNS: u32 = 0;
    // SAFETY: only the test's own thread counts.
    gives_up(|| unsafe {
        TURNS += 1;
        TURNS
    });
}
"#;

#[test]
fn loops_that_wait_have_finitely_many_schedules() {
    let workspace = Workspace::with_library(LIBRARY);
    for profile in ["dev", "release"] {
        let run = workspace
            .chess(&["test", "--message-format=json", "--strategy=dpor"])
            .arg("--cargo-profile")
            .arg(profile)
            .arg("waits_with")
            .arg("takes_a_")
            .arg("reads_behind")
            .arg("either_of")
            .run();
        run.assert_code(0);
        assert_eq!(run.verdicts().len(), 11);
        for verdict in run.verdicts() {
            assert_eq!(verdict["complete"], true, "{profile}: {verdict}");
        }
    }
}

#[test]
fn a_turn_that_changed_anything_is_repeated() {
    let workspace = Workspace::with_library(LIBRARY);
    for profile in ["dev", "release"] {
        let run = workspace
            .chess(&["test", "--message-format=json", "--no-fail-fast"])
            .arg("--cargo-profile")
            .arg(profile)
            .arg("counts_")
            .run();
        run.assert_code(100);
        assert_eq!(run.verdicts().len(), 4);
        for verdict in run.verdicts() {
            let message = verdict["message"].as_str().unwrap_or_default();
            assert!(message.contains("it gave up"), "{profile}: {verdict}");
        }
    }
}

#[test]
fn a_loop_with_two_reads_is_woken_by_a_write_to_either() {
    let workspace = Workspace::with_library(LIBRARY);
    for strategy in ["icb", "dpor", "delay", "pos"] {
        let args = ["test", "--message-format=json", "--no-fail-fast"];
        let run = workspace
            .chess(&args)
            .arg("--strategy")
            .arg(strategy)
            .arg("for_a_moment")
            .run();
        run.assert_code(100);
        assert_eq!(run.verdicts().len(), 2);
        for verdict in run.verdicts() {
            let message = verdict["message"].as_str().unwrap_or_default();
            assert!(message.contains("it saw the moment"), "{verdict}");
        }
    }
}
