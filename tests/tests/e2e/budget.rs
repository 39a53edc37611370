//! The budget of work: its end does not depend on the machine or the number of cores. The strategy
//! `auto` uses a part of it for samples, unless the test is small.

use end_to_end::{Workspace, without_durations};
use serde_json::Value;

const TESTS: &str = r"
#[test] fn large() { locked(4, 4) }
#[test] fn long() { locked(2, 60) }
#[test] fn small() { locked(2, 1) }
";

fn verdicts(workspace: &Workspace, args: &[&str]) -> Vec<Value> {
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&common, args].concat()).run();
    let mut events = without_durations(run.events());
    events.retain(|event| event["type"] == "test-finished");
    events
}

fn number(verdict: &Value, key: &str) -> u64 {
    verdict[key].as_u64().expect("a number")
}

#[test]
fn work_ends_a_search_at_the_same_schedule_with_any_number_of_cores() {
    let workspace = Workspace::with_locks(TESTS);
    let alone = verdicts(&workspace, &["--work", "500k", "--jobs", "1"]);
    assert_eq!(alone.len(), 3);
    for verdict in &alone {
        let (work, schedules) = (number(verdict, "work"), number(verdict, "schedules"));
        if verdict["test"] == "small" {
            assert_eq!(verdict["complete"], true);
            continue;
        }
        let of_each = work / schedules;
        assert!(
            (500_000 - of_each..500_000 + of_each).contains(&work),
            "{verdict}"
        );
        assert_eq!(verdict["options"]["work"], 500_000);
        assert_eq!(verdict["options"]["schedules"], Value::Null);
    }
    let together = verdicts(&workspace, &["--work", "500_000", "--jobs", "3"]);
    assert_eq!(alone, together);
}

/// `computes` has the operations of `short`, and also code that accesses memory often. System calls
/// on sockets cost more than other operations. A choice among many tasks costs more than a choice
/// among few.
#[test]
fn code_between_operations_and_system_calls_and_candidates_are_work() {
    let workspace = Workspace::with_locks(
        r#"
#[test] fn short() { locked(2, 4) }
#[test] fn of_few_tasks() { locked(4, 4) }
#[test] fn of_many_tasks() { locked(200, 4) }
#[test]
fn computes() {
    let squares: Vec<u64> = (0..1_000).map(|number| number * number).collect();
    assert_eq!(squares.iter().sum::<u64>(), 332_833_500);
    locked(2, 4)
}
#[test]
fn sends() {
    use std::io::Write;
    let (mut one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    for _ in 0..4 {
        one.write_all(b"text").unwrap();
    }
    locked(2, 4)
}
"#,
    );
    let verdicts = verdicts(&workspace, &["--schedules", "20", "--strategy", "icb"]);
    let work = |name: &str| {
        let verdict = verdicts.iter().find(|it| it["test"] == name);
        number(verdict.expect("it ran"), "work") / 20
    };
    let (short, computes, sends) = (work("short"), work("computes"), work("sends"));
    assert!(computes > 10 * short, "{computes} and {short}");
    assert!(sends > short + 4 * 50, "{sends} and {short}");
    let (few, many) = (work("of_few_tasks"), work("of_many_tasks"));
    assert!(many > 2 * 50 * few, "{many} and {few}");
}

/// The accesses of an execution beyond the step limit are counted up to the limit.
#[test]
fn code_between_operations_is_work_in_long_executions_too() {
    let workspace = Workspace::with_locks(
        r"
fn adds(next: impl Fn(u64) -> u64 + Sync) {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..6_000).for_each(|number| *sum.lock().unwrap() += next(number)));
        }
    });
}
#[test] fn long() { adds(|number| number) }
#[test] fn long_and_computes() { adds(|number| (0..60).map(|it| it ^ number).sum()) }
",
    );
    let verdicts = verdicts(&workspace, &["--schedules", "2", "--strategy", "icb"]);
    for verdict in &verdicts {
        assert_eq!(number(verdict, "executions"), 3, "{verdict}");
        assert!(number(verdict, "max_steps_in_execution") > 20_000);
    }
    let [long, computes] = [0, 1].map(|at| number(&verdicts[at], "work"));
    assert!(computes > 3 * long, "{computes} and {long}");
}

/// Only the first execution may exceed the budget. It is not repeated if no other one follows it.
#[test]
fn no_execution_begins_for_which_the_budget_has_no_room() {
    let workspace = Workspace::with_locks("#[test] fn long() { locked(2, 600) }");
    let random = |budget: [&str; 2]| {
        let verdicts = verdicts(
            &workspace,
            &[&["--strategy", "random"], &budget[..]].concat(),
        );
        ["schedules", "executions", "work"].map(|key| number(&verdicts[0], key))
    };
    let [_, _, work] = random(["--schedules", "1"]);
    let explored = |work: u64| {
        let [schedules, executions, _] = random(["--work", &work.to_string()]);
        [schedules, executions]
    };
    assert_eq!(explored(1), [1, 1]);
    assert_eq!(explored(2 * work - work / 4)[0], 1);
    assert_eq!(explored(2 * work + work / 4), [2, 3]);
}

#[test]
fn the_end_of_a_search_is_reported_with_its_cause() {
    let workspace = Workspace::with_locks(TESTS);
    let said = |args: &[&str]| {
        let run = workspace.chess(&[&["test", "large"], args].concat()).run();
        run.assert_code(0);
        run.stdout + &run.stderr
    };
    let text = said(&["--work", "100k"]);
    assert!(text.contains("100k units of work per test"), "{text}");
    assert!(
        text.contains("its budget of 100k units of work ended after "),
        "{text}"
    );
    let text = said(&["--schedules", "300"]);
    assert!(text.contains("300 schedules per test"), "{text}");
    assert!(
        text.contains("its budget of 300 schedules ended before all schedules"),
        "{text}"
    );
}

#[test]
fn one_racy_registration_among_sixteen_is_found_within_fifty_schedules() {
    let workspace = Workspace::shared("catalog");
    let found = verdicts(&workspace, &["--test", "large", "racy_registration::buggy"]);
    let [verdict] = &found[..] else {
        panic!("not one verdict: {found:?}");
    };
    assert_eq!(verdict["outcome"], "failed");
    assert!(number(verdict, "schedules") <= 50, "{verdict}");
    assert_eq!(verdict["preemptions"], 1);
}

#[test]
fn a_small_test_is_not_sampled() {
    let workspace = Workspace::with_locks(TESTS);
    let counts = |strategy| {
        let verdicts = verdicts(&workspace, &["small", "--strategy", strategy]);
        let [verdict] = &verdicts[..] else {
            panic!("not one verdict: {verdicts:?}");
        };
        ["schedules", "work", "complete"].map(|key| verdict[key].clone())
    };
    assert_eq!(counts("auto"), counts("icb"));
}
