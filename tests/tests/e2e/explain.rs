//! `cargo chess explain` shows the cause of a failure.

use end_to_end::{Run, Workspace};

/// Finds the failure of `test`, and returns its id. It is then the newest failure.
fn find(workspace: &Workspace, test: &str) -> String {
    let run = workspace.chess(&["test", "--exact", test]).run();
    run.assert_code(100);
    let said = run.message();
    let (_, replay) = said
        .split_once("Replay cargo chess replay ")
        .expect("the failure is saved");
    replay.lines().next().expect("it has an id").to_owned()
}

/// Returns the explanation of the failure of `test`.
fn explained(fixture: &str, test: &str) -> String {
    let workspace = Workspace::shared(fixture);
    let id = find(&workspace, test);
    let run = workspace.chess(&["explain", &id]).run();
    run.assert_code(0);
    assert_eq!(run.stdout, "", "standard output is for machines");
    run.message()
}

#[test]
fn a_lost_update_is_explained_by_its_preemption_and_by_the_schedule_without_it() {
    insta::assert_snapshot!(explained("demo/bank", "buggy"));
}

#[test]
fn a_deadlock_is_explained_by_its_holding_and_waiting_tasks() {
    insta::assert_snapshot!(explained("demo/abba", "buggy"));
}

#[test]
fn a_lost_wakeup_is_explained_by_the_value_that_was_read_too_early() {
    insta::assert_snapshot!(explained("demo/lost-wakeup", "buggy"));
}

#[test]
fn values_of_atomics_and_pointers_are_shown_where_they_help_most() {
    insta::assert_snapshot!(explained("catalog", "treiber::buggy"));
}

#[test]
fn several_preemptions_are_explained_one_after_the_other() {
    insta::assert_snapshot!(explained("catalog", "four_preemptions::buggy"));
}

#[test]
fn a_loop_without_end_is_folded() {
    insta::assert_snapshot!(explained("catalog", "unfair_spin::buggy"));
}

const COUNTER: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, AtomicPtr, Ordering::SeqCst};
use std::thread;

#[test]
fn lost() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(count.load(SeqCst), 2);
}

// Names distinguish the addresses.
#[test]
fn fixed_order() {
    let (mut one, mut other) = (1_u64, 2_u64);
    let place = AtomicPtr::new(&raw mut one);
    place.swap(&raw mut other, SeqCst);
    let taken = place.compare_exchange(&raw mut one, std::ptr::null_mut(), SeqCst, SeqCst);
    place.store(taken.unwrap_err(), SeqCst);
    panic!();
}
";

fn explain(workspace: &Workspace, args: &[&str]) -> Run {
    workspace.chess(&[&["explain"], args].concat()).run()
}

#[test]
fn the_value_between_the_read_and_the_write_is_named() {
    let workspace = Workspace::with_library(COUNTER);
    find(&workspace, "lost");
    insta::assert_snapshot!(explain(&workspace, &["--last"]).message());
}

#[test]
fn a_test_that_fails_in_every_schedule_is_reported_as_such() {
    let workspace = Workspace::with_library(COUNTER);
    find(&workspace, "fixed_order");
    insta::assert_snapshot!(explain(&workspace, &[]).message());
}

#[test]
fn colours_are_used_where_they_are_asked_for_and_only_there() {
    let workspace = Workspace::with_library(COUNTER);
    let id = find(&workspace, "lost");
    let plain = explain(&workspace, &[&id]).stderr;
    assert!(!plain.contains('\u{1b}'));
    let coloured = explain(&workspace, &[&id, "--color", "always"]).stderr;
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn changes_since_the_failure_are_reported_and_a_schedule_that_no_longer_fits_is_an_error() {
    let workspace = Workspace::with_library(COUNTER);
    let id = find(&workspace, "lost");
    workspace.write("src/lib.rs", &format!("{COUNTER}// A remark.\n"));
    let changed = explain(&workspace, &[&id]);
    changed.assert_code(0);
    assert!(changed.stderr.contains(
        "the sources have changed since the schedule was saved; the lines shown are the current ones"
    ));
    let corrected = COUNTER.replace(
        "count.store(count.load(SeqCst) + 1, SeqCst)",
        "{ count.fetch_add(1, SeqCst); }",
    );
    workspace.write("src/lib.rs", &corrected);
    let stale = explain(&workspace, &[&id]);
    stale.assert_code(1);
    insta::assert_snapshot!(stale.message());
}

#[test]
fn without_a_saved_failure_the_error_has_a_remedy() {
    let workspace = Workspace::with_library(COUNTER);
    let run = explain(&workspace, &["--last"]);
    run.assert_code(1);
    insta::assert_snapshot!(workspace.redact(&run.message()));
}

#[test]
fn a_schedule_and_the_last_one_cannot_both_be_asked_for() {
    let workspace = Workspace::with_library(COUNTER);
    let run = explain(&workspace, &["--last", "cdf5"]);
    run.assert_code(1);
    assert!(run.stderr.contains("cannot be used with"), "{run:?}");
}

/// Returns a report in Markdown without the words that differ between versions of the compiler.
fn markdown(workspace: &Workspace, id: &str) -> String {
    let run = explain(workspace, &[id, "--markdown"]);
    run.assert_code(0);
    let root = workspace.root().to_string_lossy().into_owned();
    assert!(!run.stdout.contains(&root), "{}", run.stdout);
    let lines = run.stdout.lines().map(|line| {
        let word = line.split_once("replay chess1:").map(|(before, _)| before);
        match (word, line.strip_prefix("- rustc ")) {
            (Some(before), _) => format!("{before}replay chess1:[word]"),
            (_, Some(_)) => "- rustc [version]".to_owned(),
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_report_for_an_issue_has_all_that_its_reader_needs() {
    let workspace = Workspace::with_library(COUNTER);
    let id = find(&workspace, "lost");
    insta::assert_snapshot!(markdown(&workspace, &id));
    let both = explain(&workspace, &["--markdown", "--html"]);
    both.assert_code(1);
}

#[test]
fn a_report_names_the_dependency_that_fails_and_no_directory() {
    let workspace = Workspace::copy_of("calls");
    workspace.write(
        "Chess.toml",
        "# All of it.\n[policy]\ndependencies = \"preempt\"\n",
    );
    workspace.write("shelf/src/lib.rs", LOSES);
    workspace.write(
        "src/lib.rs",
        &COUNTER.replace(
            "count.store(count.load(SeqCst) + 1, SeqCst)",
            "shelf::count(&count)",
        ),
    );
    let id = find(&workspace, "lost");
    insta::assert_snapshot!(markdown(&workspace, &id));
}

/// A library with a function that loses an update.
const LOSES: &str = r"
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub fn count(it: &AtomicU32) {
    it.store(it.load(SeqCst) + 1, SeqCst);
}
";

#[test]
fn without_a_failure_there_is_no_report() {
    let workspace = Workspace::with_library(COUNTER);
    let id = find(&workspace, "lost");
    // The same operations, without the assertion.
    workspace.write(
        "src/lib.rs",
        &COUNTER.replace("assert_eq!(count.load(SeqCst), 2);", "count.load(SeqCst);"),
    );
    let run = explain(&workspace, &[&id, "--markdown"]);
    run.assert_code(1);
    assert_eq!(run.stdout, "");
    insta::assert_snapshot!(run.message());
}

const STORES_LATE: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn last_is_first() {
    let count = AtomicU32::new(0);
    for _ in 0..250 {
        count.fetch_add(1, SeqCst);
    }
    thread::scope(|scope| {
        for value in 1..=2 {
            let count = &count;
            scope.spawn(move || count.store(value, SeqCst));
        }
    });
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn alone() {
    let count = AtomicU32::new(0);
    for _ in 0..250 {
        count.fetch_add(1, SeqCst);
    }
    panic!();
}
";

/// Explains the failure of `test` in an exploration with this step limit.
fn explained_within(max_steps: &str, test: &str) -> String {
    let workspace = Workspace::with_library(STORES_LATE);
    let test = ["test", test, "--max-steps", max_steps];
    workspace.chess(&test).run().assert_code(100);
    explain(&workspace, &[]).message()
}

#[test]
fn choices_past_the_step_limit_are_not_taken_for_none() {
    insta::assert_snapshot!(explained_within("200", "last_is_first"));
    let alone = explained_within("200", "alone");
    assert!(
        alone.contains("so every schedule fails in this way"),
        "{alone}"
    );
}

#[test]
fn events_that_are_not_recorded_are_counted() {
    insta::assert_snapshot!(explained_within("100", "last_is_first"));
}
