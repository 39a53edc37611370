//! Operations outside the scheduler's control are performed, and reported.

use end_to_end::{Run, Workspace};
use serde_json::json;

/// Explores tests of the fixture, with JSON output.
fn explore(args: &[&str]) -> Run {
    let always = ["test", "--message-format", "json"];
    Workspace::shared("io")
        .chess(&[&always, args].concat())
        .run()
}

#[test]
fn a_child_process_is_waited_for_and_reported() {
    let run = explore(&["--exact", "two_children"]);
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(
        verdict["outside"],
        json!(["waited for a child process"]),
        "{verdict}"
    );
    assert_eq!(verdict["warnings"], json!([]), "{verdict}");
}

#[test]
fn pipes_of_a_child_are_read_and_reported() {
    let run = explore(&["--exact", "piped_both_ways"]);
    run.assert_code(0);
    let printed = run.verdict()["outside"].to_string();
    assert!(
        printed.contains("a pipe whose other end is outside"),
        "{printed}"
    );
    assert!(printed.contains("waited for a child process"), "{printed}");
}

/// If children ran while a task can run, the results of nonblocking calls would depend on the speed
/// of the children.
#[test]
fn children_run_only_while_no_task_can() {
    for strategy in ["random", "auto"] {
        let search = ["--strategy", strategy, "--schedules", "100"];
        let test = ["--exact", "children_of_tasks_that_poll"];
        let run = explore(&[&search[..], &test].concat());
        run.assert_code(0);
        let verdict = run.verdict();
        assert_eq!(verdict["warnings"], json!([]), "{verdict}");
    }
}

#[test]
fn calls_within_the_process_are_under_control() {
    for test in [
        "echo::fixed",
        "short_read::fixed",
        "epoll::fixed",
        "a_timer",
    ] {
        let run = explore(&["--exact", test]);
        run.assert_code(0);
        assert_eq!(run.verdict()["outside"], json!([]), "{run:?}");
    }
}

#[test]
fn a_server_and_its_clients_repeat_exactly() {
    let args = ["--exact", "count::fixed", "--schedules", "300"];
    let (first, second) = (explore(&args), explore(&args));
    for run in [&first, &second] {
        run.assert_code(0);
        assert_eq!(run.verdict()["warnings"], json!([]), "{run:?}");
    }
    for number in ["schedules", "distinct", "steps", "max_steps_in_execution"] {
        assert_eq!(
            first.verdict()[number],
            second.verdict()[number],
            "{number}"
        );
    }
}
