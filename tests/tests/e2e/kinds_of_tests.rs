//! Every test that `cargo test` runs is explored, or the run reports why it is not.

use end_to_end::Workspace;
use serde_json::Value;

fn verdicts(args: &[&str], code: i32) -> Vec<Value> {
    let workspace = Workspace::shared("harness");
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&common, args].concat()).run();
    run.assert_code(code);
    run.verdicts()
}

#[test]
fn a_test_of_one_task_costs_one_execution() {
    let verdicts = verdicts(&["--lib", "of_one_task"], 0);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["schedules"], 1);
    assert_eq!(verdicts[0]["complete"], true);
}

#[test]
fn a_binary_with_a_harness_of_its_own_runs_once_and_is_not_called_explored() {
    // No test was explored, so the run is not a success.
    let verdicts = verdicts(&["--test", "own_harness"], 1);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["outcome"], "skipped");
    assert_eq!(verdicts[0]["executions"], 1);
    assert_eq!(verdicts[0]["complete"], false);
    insta::assert_snapshot!(verdicts[0]["warnings"]);
}

#[test]
fn an_ignored_test_runs_when_asked_for() {
    let verdicts = verdicts(&["--test", "kinds", "--run-ignored", "ignored-only"], 100);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["test"], "ignored");
    assert_eq!(verdicts[0]["preemptions"], 1);
}

#[test]
fn libtest_arguments_have_their_meaning() {
    let args = [
        "--test",
        "kinds",
        "--",
        "--include-ignored",
        "--skip",
        "should_panic",
    ];
    let verdicts = verdicts(&args, 100);
    let names: Vec<_> = verdicts
        .iter()
        .map(|verdict| verdict["test"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"ignored"));
    assert!(!names.iter().any(|name| name.contains("should_panic")));
}

#[test]
fn the_features_of_the_workspace_are_those_of_cargo_test() {
    let workspace = Workspace::shared("members");
    let args = ["test", "--message-format", "json", "opposite_transfers"];
    let all = workspace.chess(&args).run();
    all.assert_code(0);
    assert_eq!(all.verdict()["bound_completed"], 2);
    let selected = workspace.chess(&args).arg("-p").arg("tool").run();
    selected.assert_code(100);
    assert_eq!(selected.verdict()["kind"], "deadlock");
}

#[test]
fn a_bug_beyond_the_bound_is_not_said_to_be_absent() {
    let workspace = Workspace::shared("catalog");
    let args = [
        "test",
        "--preemptions",
        "2",
        "--strategy",
        "icb",
        "--message-format",
        "json",
    ];
    let run = workspace.chess(&args).arg("three_preemptions::buggy").run();
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(verdict["bound_completed"], 2);
    assert_eq!(verdict["complete"], false);
    insta::assert_snapshot!(verdict["coverage"].as_str().unwrap());
}
