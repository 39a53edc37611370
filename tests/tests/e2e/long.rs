//! Executions of many operations are explored in bounded memory. Executions of many tasks reuse
//! stacks.

use std::time::Duration;

use end_to_end::Workspace;

/// The number of operations of an execution. The boot of Singularity under CHESS had this number
/// of operations.
const OPERATIONS: u64 = 170_000;
const SCHEDULES: u64 = 20;
const GIBIBYTE: u64 = 1 << 30;

/// Explores the longest test of `fixtures/benchmarks/long` with a strategy.
fn explore(strategy: &str) {
    let workspace = Workspace::shared("benchmarks");
    let fixed = [
        "chess",
        "test",
        "-q",
        "-p",
        "long",
        "--message-format",
        "json",
    ];
    let search = ["--exact", "operations_170_000", "--preemptions", "1"];
    let limits = [
        "--max-steps",
        "1000000",
        "--schedules",
        "20",
        "--strategy",
        strategy,
    ];
    let call = || workspace.chess(&[&fixed[..], &search, &limits].concat());
    // The build is not included in the measurement.
    call().run().assert_code(0);
    let mut process = call().start();
    let peak = process.peak_memory();
    let run = process.finish(Duration::from_mins(5));
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["schedules"], SCHEDULES, "{verdict}");
    let steps = verdict["steps"].as_u64().expect("a number");
    assert!(steps >= OPERATIONS * SCHEDULES, "{verdict}");
    if strategy == "icb" {
        assert_eq!(verdict["bound_completed"], 0, "{verdict}");
    }
    assert!(peak > 0 && peak < GIBIBYTE, "{peak} bytes");
}

#[test]
fn long_executions_are_explored_within_a_bound_in_less_than_a_gibibyte() {
    explore("icb");
}

#[test]
fn long_executions_are_explored_without_a_bound_in_less_than_a_gibibyte() {
    explore("dpor");
}

/// A test with more tasks than there are stacks, but only a few at a time. One of them loses an
/// update.
const MANY_TASKS: &str = "\
#[test]
fn spawns_many() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    for round in 0..400 {
        std::thread::scope(|scope| {
            for task in 0..5 {
                let count = &count;
                scope.spawn(move || match (round, task) {
                    (399, 3) => count.store(count.load(SeqCst) + 1, SeqCst),
                    _ => _ = count.fetch_add(1, SeqCst),
                });
            }
        });
    }
    assert_eq!(count.into_inner(), 2_000);
}
";

#[test]
fn a_bug_among_the_last_of_two_thousand_tasks_is_found_and_repeats() {
    let workspace = Workspace::with_library(MANY_TASKS);
    let args = ["test", "--message-format=json", "--strategy=random"];
    let run = workspace.chess(&args).arg("--schedules=50").run();
    run.assert_code(100);
    let verdict = run.verdict();
    assert_eq!(verdict["kind"], "panic", "{verdict}");
    assert_eq!(verdict["threads"], 2_001, "{verdict}");
    let schedule = verdict["schedule"].as_str().expect("it is kept");
    let replay = workspace.chess(&["replay", schedule]).run();
    replay.assert_says(100, &["left: 1999"]);
}

/// Two threads that poll for each other without yielding. Each iteration of a loop writes, so that
/// no iteration is known to repeat another one.
const POLLS: &str = "\
#[test]
fn polls_two_hundred_times() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let [request, answer, tries] = [const { AtomicU32::new(0) }; 3];
    let wait = |word: &AtomicU32, number| {
        while word.load(SeqCst) != number {
            tries.fetch_add(1, SeqCst);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=200 {
                wait(&request, number);
                answer.store(number, SeqCst);
            }
        });
        for number in 1..=200 {
            request.store(number, SeqCst);
            wait(&answer, number);
        }
    });
}
";

#[test]
fn past_the_step_limit_a_poll_takes_a_fortieth_of_the_limit() {
    let workspace = Workspace::with_library(POLLS);
    let args = ["test", "--message-format=json", "--strategy=icb"];
    let run = workspace.chess(&args).arg("--schedules=2").run();
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["outcome"], "passed", "{verdict}");
    // Each of the 200 numbers takes two slices of 500 steps. The first slices are longer.
    let steps = verdict["max_steps_in_execution"].as_u64();
    assert!(steps.is_some_and(|steps| steps < 300_000), "{verdict}");
}

/// Tests whose executions run far beyond the step limit. In the tests that may end, two tasks poll
/// until a third one has slept or has written for a long time, or a task creates many others. In
/// the last test, two tasks poll for an event that never happens, which is a livelock.
const POLLS_FOR_LONG: &str = "\
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

fn polls(until_it_ends: impl FnOnce(&Mutex<bool>) + Send) {
    let ended = Mutex::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while !*ended.lock().unwrap() { thread::yield_now() });
        }
        scope.spawn(|| until_it_ends(&ended));
    });
}

#[test]
fn sleeps() {
    polls(|ended| {
        thread::sleep(Duration::from_secs(3_600));
        *ended.lock().unwrap() = true;
    });
}

#[test]
fn creates_tasks() {
    for _ in 0..50_000 {
        thread::spawn(thread::yield_now).join().unwrap();
    }
}

#[test]
fn writes_for_long() {
    static PLACES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    polls(|ended| {
        let mut random = 1_u64;
        for _ in 0..600_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            PLACES[random as usize >> 63].store(random, Relaxed);
        }
        *ended.lock().unwrap() = true;
    });
}

#[test]
fn does_not_end() {
    polls(|_| {});
}
";

#[test]
fn executions_that_may_end_are_no_livelock() {
    let workspace = Workspace::with_library(POLLS_FOR_LONG);
    let verdicts = |limit: &str, tests: &[&str]| {
        let args = [
            "test",
            "--schedules=3",
            "--no-fail-fast",
            "--max-steps",
            limit,
        ];
        let run = workspace.chess(&[&args, tests].concat());
        let verdicts = run.arg("--message-format=json").run().verdicts();
        assert_eq!(verdicts.len(), tests.len());
        verdicts
    };
    let polls = verdicts("50", &["sleeps", "writes_for_long", "does_not_end"]);
    let tasks = verdicts("10", &["creates_tasks"]);
    for verdict in polls.iter().chain(&tasks) {
        let is_livelock = verdict["kind"] == "livelock";
        assert_eq!(is_livelock, verdict["test"] == "does_not_end", "{verdict}");
    }
}
