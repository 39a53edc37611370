//! A task that yields several times lets other tasks run first. If it continues instead, this costs
//! a preemption. So the search finds bugs that need such a continuation.

use end_to_end::{LOSE_AND_KEEP, Workspace};

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Mutex;
use std::{hint, thread};
use updates::{keep, lose};

fn five_jobs() {
    let done = Mutex::new(Vec::new());
    for job in 0..5 {
        done.lock().unwrap().push(job);
        thread::yield_now();
    }
}

#[test]
fn one_yield() {
    lose(thread::yield_now);
}

#[test]
fn jobs() {
    lose(five_jobs);
}

#[test]
fn jobs_fixed() {
    keep(five_jobs);
}

#[test]
fn pauses() {
    lose(|| (0..40).for_each(|_| hint::spin_loop()));
}

#[test]
fn pauses_fixed() {
    keep(|| (0..40).for_each(|_| hint::spin_loop()));
}

/// The flag changes after the fifth look, and the lost update happens after it.
#[test]
fn looks() {
    let seen = AtomicBool::new(false);
    lose(|| {
        for _ in 0..5 {
            hint::black_box(seen.load(SeqCst));
            thread::yield_now();
        }
        seen.store(true, SeqCst);
        thread::yield_now();
    });
}

#[test]
fn one_yield_fixed() {
    keep(thread::yield_now);
}

#[test]
fn waits_and_counts() {
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| ready.store(true, SeqCst));
        let mut looks = 0;
        while !ready.load(SeqCst) {
            looks += 1;
            thread::yield_now();
        }
        hint::black_box(looks);
    });
}
";

fn workspace() -> Workspace {
    Workspace::with_library(&format!("{LIBRARY}{LOSE_AND_KEEP}"))
}

#[test]
fn a_bug_past_several_yields_is_found_with_one_more_preemption() {
    let workspace = workspace();
    for strategy in ["auto", "icb", "delay", "dpor"] {
        let args = ["test", "--no-fail-fast", "--message-format=json"];
        let run = workspace.chess(&args).args(["--strategy", strategy]).run();
        run.assert_code(100);
        let verdicts = run.verdicts_by_name();
        for (name, preemptions) in [("one_yield", 1), ("jobs", 2), ("pauses", 2), ("looks", 2)] {
            let verdict = &verdicts[name];
            assert_eq!(
                verdict["outcome"], "failed",
                "{name} by {strategy}: {verdict}"
            );
            assert_eq!(
                verdict["preemptions"], preemptions,
                "{name} by {strategy}: {verdict}"
            );
        }
        for name in ["jobs_fixed", "pauses_fixed", "waits_and_counts"] {
            let verdict = &verdicts[name];
            assert_eq!(
                verdict["outcome"], "passed",
                "{name} by {strategy}: {verdict}"
            );
        }
    }
}

#[test]
fn loops_that_wait_and_yield_are_explored_to_their_end() {
    let workspace = workspace();
    let args = ["test", "--strategy", "icb", "--preemptions", "20"];
    let run = workspace
        .chess(&args)
        .args([
            "--message-format=json",
            "jobs_fixed",
            "pauses_fixed",
            "waits_and_counts",
        ])
        .run();
    run.assert_code(0);
    for (name, verdict) in run.verdicts_by_name() {
        assert_eq!(verdict["complete"], true, "{name}: {verdict}");
    }
}

#[test]
fn a_guarantee_for_fair_schedules_only_says_so() {
    let workspace = workspace();
    let clause = ", where threads that yield repeatedly let other threads run";
    let args = ["test", "--strategy", "icb", "--exact"];
    for (name, is_fair_only) in [("jobs_fixed", true), ("one_yield_fixed", false)] {
        let run = workspace.chess(&args).arg(name).run();
        run.assert_code(0);
        assert_eq!(run.stderr.contains(clause), is_fair_only, "{run:?}");
        let run = workspace
            .chess(&args)
            .args(["--message-format=json", name])
            .run();
        let verdict = run.verdict();
        assert_eq!(verdict["fair_only"], is_fair_only, "{verdict}");
        let coverage = verdict["coverage"].as_str().unwrap();
        assert_eq!(coverage.contains(clause), is_fair_only, "{verdict}");
    }
}

#[test]
fn the_report_names_the_yield_and_the_schedule_replays() {
    let workspace = workspace();
    let run = workspace.chess(&["test", "--exact", "jobs"]).run();
    run.assert_code(100);
    let note = "continues although others wait for their turn (counts as a preemption)";
    assert_eq!(run.stderr.matches(note).count(), 1, "{run:?}");
    let schedule = run
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("Saved "));
    let replay = workspace.chess(&["replay", schedule.unwrap()]).run();
    replay.assert_code(100);
    assert_eq!(replay.stderr.matches(note).count(), 1, "{replay:?}");
}
