//! Loops that wait without a yield, or that spin before they block, make progress, as they do
//! under an operating system.

use end_to_end::Workspace;

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use std::{hint, thread};

#[test]
fn sends_until_no_task_listens() {
    let (sender, receiver) = channel();
    let listener = thread::spawn(move || receiver.recv().unwrap());
    while sender.send(1).is_ok() {}
    listener.join().unwrap();
}

#[test]
fn take_turns_for_long() {
    const TURNS: usize = 100_000;
    let turn = AtomicUsize::new(0);
    let play = |own: usize, other: &thread::Thread| {
        for round in 0..TURNS {
            while turn.load(Relaxed) != 2 * round + own {
                thread::park();
            }
            turn.fetch_add(1, Relaxed);
            other.unpark();
        }
    };
    let main = thread::current();
    thread::scope(|scope| {
        let other = scope.spawn(|| play(1, &main));
        play(0, other.thread());
    });
}

#[test]
fn counts_for_long() {
    let turns = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| turns.fetch_add(1, Relaxed));
        for _ in 0..2_000_000 {
            turns.fetch_add(1, Relaxed);
        }
    });
}

#[test]
fn works_for_a_while() {
    let (start, work) = (Instant::now(), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while start.elapsed() < Duration::from_millis(10) {
                    (0..50).for_each(|_| *work.lock().unwrap() += 1);
                    thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn work_until_stopped() {
    let stop = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..20_000).all(|_| stop.load(Relaxed) == 0));
        }
    });
}

#[test]
fn spins_for_another() {
    let ticket = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| ticket.fetch_or(1, Relaxed));
        while ticket.fetch_add(2, Relaxed) & 1 == 0 {
            ticket.fetch_sub(2, Relaxed);
        }
    });
}

#[test]
fn enters_between_two_reads() {
    let [readers, data, stop] = [const { AtomicUsize::new(0) }; 3];
    let read = || {
        while stop.load(Relaxed) == 0 {
            readers.fetch_add(1, Relaxed);
            (0..2).for_each(|_| assert_eq!(data.load(Relaxed), 0));
            readers.fetch_sub(1, Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(read);
        }
        while readers.compare_exchange(0, 100, Relaxed, Relaxed).is_err() {
            thread::yield_now();
        }
        stop.store(1, Relaxed);
    });
}

#[test]
fn works_for_less_than_the_timeout() {
    let (work, (sender, receiver)) = (AtomicUsize::new(0), channel());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                work.fetch_add(1, Relaxed);
                thread::yield_now();
            }
            sender.send(1).unwrap();
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(1));
    });
}

#[test]
fn spins_before_it_blocks() {
    let (sender, receiver) = channel();
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        sender.send(1).unwrap();
    });
    for _ in 0..22 {
        hint::spin_loop();
    }
    assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
    assert_eq!(receiver.recv(), Ok(1));
    late.join().unwrap();
}
";

#[test]
fn a_loop_without_yields_ends_once_the_others_had_their_turn() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("sends_until_no_task_listens")
        .arg("--schedules=1")
        .arg("--max-steps=1000")
        .run();
    run.assert_code(0);
    assert!(run.verdict()["steps"].as_u64().unwrap() < 100_000);
}

#[test]
fn a_sleep_ends_before_a_shorter_one_of_a_spinner_at_the_cost_of_a_preemption() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace.chess(&args).arg("spins_before_it_blocks").run();
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["outcome"], "timing");
    assert_eq!(verdict["preemptions"], 1);
}

#[test]
fn a_task_that_works_does_not_end_a_long_timeout() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    for (timing, outcome) in [("allow", "passed"), ("warn", "timing")] {
        let run = workspace
            .chess(&args)
            .arg("works_for_less_than_the_timeout")
            .arg("--schedules=200")
            .args(["--timing", timing])
            .run();
        run.assert_code(0);
        assert_eq!(run.verdict()["outcome"], outcome);
    }
}

#[test]
fn a_time_budget_that_ends_within_an_execution_makes_no_test_unstable() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("counts_for_long")
        .arg("--time=200ms")
        .run();
    let verdict = run.verdict();
    assert_ne!(verdict["outcome"], "failed", "{run:?}");
    assert_ne!(verdict["coverage"], "not deterministic", "{run:?}");
}

#[test]
fn the_first_execution_runs_to_its_end_however_short_the_time_is() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("counts_for_long")
        .arg("--time=1ms")
        .run();
    run.assert_code(0);
    assert_eq!(run.verdict()["outcome"], "passed");
}

#[test]
fn tasks_that_wake_each_other_a_hundred_thousand_times_are_no_livelock() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("take_turns_for_long")
        .arg("--schedules=1")
        .arg("--max-steps=1000")
        .run();
    run.assert_code(0);
}

#[test]
fn a_loop_that_works_until_its_time_is_over_is_no_livelock() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("works_for_a_while")
        .arg("--schedules=2")
        .arg("--max-steps=100")
        .run();
    run.assert_code(0);
}

#[test]
fn loops_that_count_are_no_livelock() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("work_until_stopped")
        .arg("--schedules=2")
        .arg("--max-steps=100")
        .run();
    run.assert_code(0);
}

#[test]
fn a_loop_that_spins_for_another_task_gives_way_unless_spins_are_denied() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = [
        "test",
        "--message-format=json",
        "--exact",
        "spins_for_another",
    ];
    workspace
        .chess(&args)
        .arg("--schedules=1")
        .run()
        .assert_code(0);
    let run = workspace.chess(&args).arg("--max-steps=1000").run();
    run.assert_code(0);
    let warnings = run.verdict()["warnings"].to_string();
    assert!(warnings.contains("more than --max-steps steps"), "{run:?}");
    let denied = workspace.chess(&args).arg("--max-steps=1000");
    let run = denied.arg("--spins=deny").run();
    run.assert_code(100);
    assert_eq!(run.verdict()["kind"], "spin");
}

/// Each reader has a loop of five events, and must be preempted between two iterations.
#[test]
fn time_slices_do_not_keep_loops_in_step() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("enters_between_two_reads")
        .arg("--max-steps=2000")
        .arg("--schedules=1000")
        .run();
    run.assert_code(0);
    assert_eq!(run.verdict()["outcome"], "passed");
}

/// Tasks that poll a flag. Three tasks that sleep in between run in an order that is no short cycle.
/// Two tasks read the clock.
const POLLERS: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

fn poll(is_set: &AtomicBool) {
    while !is_set.load(SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn pollers(work: impl FnOnce() -> bool) {
    let is_set = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| poll(&is_set));
        }
        if work() {
            is_set.store(true, SeqCst);
        }
    });
}

#[test]
fn is_never_set() {
    pollers(|| false);
}

#[test]
fn is_not_set_after_a_lost_update() {
    pollers(|| {
        let count = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
            }
        });
        count.into_inner() == 2
    });
}

#[test]
fn is_set_late() {
    pollers(|| {
        for _ in 0..200_000 {
            thread::sleep(Duration::from_millis(1));
        }
        true
    });
}

#[test]
fn reads_for_long() {
    let is_set = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_set.load(SeqCst) {
                    thread::sleep(Duration::from_nanos(300));
                }
            });
        }
        let place = AtomicU32::new(0);
        let sum: u32 = (0..50_000).map(|_| place.load(SeqCst)).sum();
        is_set.store(sum == 0, SeqCst);
    });
}

fn two_tasks(step: impl Fn() -> bool + Sync) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while step() { thread::yield_now() });
        }
    });
}

#[test]
fn ends_after_a_minute() {
    let start = Instant::now();
    let is_set = AtomicBool::new(false);
    two_tasks(|| !is_set.load(SeqCst) && start.elapsed() < Duration::from_secs(60));
}

#[test]
fn fails_after_a_minute() {
    let start = Instant::now();
    let is_set = AtomicBool::new(false);
    two_tasks(|| {
        assert!(start.elapsed() < Duration::from_secs(60));
        !is_set.load(SeqCst)
    });
}

#[test]
fn reads_the_clock_for_ever() {
    let start = Instant::now();
    let is_set = AtomicBool::new(false);
    two_tasks(|| {
        let is_late = start.elapsed() > Duration::from_secs(60);
        !is_set.load(SeqCst) || !is_late
    });
}
";

#[test]
fn tasks_that_sleep_and_look_again_for_ever_are_a_livelock() {
    let workspace = Workspace::with_library(POLLERS);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace.chess(&args).arg("is_never_set").run();
    run.assert_code(100);
    let verdict = run.verdict();
    assert_eq!(verdict["kind"], "livelock", "{run:?}");
    assert_eq!(verdict["schedules"], 1);
    let twin = workspace.chess(&args).arg("is_set_late");
    twin.arg("--schedules=2").run().assert_code(0);
    let twin = workspace.chess(&args).arg("reads_for_long");
    let run = twin.arg("--schedules=2").arg("--max-steps=100").run();
    run.assert_code(0);
}

#[test]
fn a_livelock_that_was_found_after_other_executions_replays() {
    let workspace = Workspace::with_library(POLLERS);
    let args = ["--message-format=json"];
    let test = ["test", "--exact", "is_not_set_after_a_lost_update"];
    let run = workspace.chess(&[&test[..], &args].concat()).run();
    run.assert_code(100);
    let found = run.verdict();
    assert_eq!(found["kind"], "livelock", "{run:?}");
    let schedule = found["schedule"].as_str().expect("a failure has one");
    let run = workspace
        .chess(&[&["replay", schedule][..], &args].concat())
        .run();
    run.assert_code(100);
    assert_eq!(run.verdict()["kind"], "livelock", "{run:?}");
    // It ends soon after the step limit, as in the search.
    let steps = run.verdict()["steps"].as_u64();
    assert!(steps.is_some_and(|steps| steps < 100_000), "{run:?}");
}

#[test]
fn tasks_that_poll_until_a_time_limit_are_no_livelock() {
    let workspace = Workspace::with_library(POLLERS);
    let args = ["test", "--message-format=json", "--schedules=2", "minute"];
    let run = workspace.chess(&args).arg("--no-fail-fast").run();
    run.assert_code(100);
    let verdicts = run.verdicts();
    let kinds = verdicts.iter().map(|it| (&it["outcome"], &it["kind"]));
    let mut kinds: Vec<_> = kinds.map(|(a, b)| format!("{a} {b}")).collect();
    kinds.sort();
    assert_eq!(
        kinds,
        [r#""failed" "panic""#, r#""passed" null"#],
        "{run:?}"
    );
}

#[test]
fn tasks_that_read_the_clock_for_ever_are_a_livelock() {
    let workspace = Workspace::with_library(POLLERS);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace.chess(&args).arg("reads_the_clock_for_ever").run();
    run.assert_code(100);
    assert_eq!(run.verdict()["kind"], "livelock", "{run:?}");
}

#[test]
fn a_replay_that_is_given_up_has_no_verdict() {
    let workspace = Workspace::with_library(POLLERS);
    let test = "is_not_set_after_a_lost_update";
    let run = workspace
        .chess(&["test", "--message-format=json", "--max-steps=100", test])
        .run();
    let found = run.verdict();
    assert_eq!(found["kind"], "livelock", "{run:?}");
    // The changed tasks perform the same operations, but on lines that form no cycle.
    let changed = POLLERS.replace(
        "    while !is_set.load(SeqCst) {",
        "
    let mut random = 1_u64;
    while !if random >> 63 == 0 {
        is_set.load(SeqCst)
    } else {
        is_set.load(SeqCst)
    } {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);",
    );
    workspace.write("src/lib.rs", &changed);
    let schedule = found["schedule"].as_str().expect("a failure has one");
    let run = workspace
        .chess(&["replay", "--message-format=json", schedule])
        .run();
    assert_eq!(run.verdict()["outcome"], "timeout", "{run:?}");
}
