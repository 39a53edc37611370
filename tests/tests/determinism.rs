//! What a run prints depends on the sources and the options, on nothing else.

use end_to_end::{Workspace, without_durations};

fn events(args: &[&str]) -> Vec<serde_json::Value> {
    let workspace = Workspace::shared("catalog");
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&common, args].concat()).run();
    run.assert_code(100);
    without_durations(run.events())
}

#[test]
fn two_runs_print_the_same_events() {
    let first = events(&[]);
    assert!(first.len() > 60, "{} events", first.len());
    assert_eq!(first, events(&[]));
}

#[test]
fn two_random_runs_with_one_seed_print_the_same_events() {
    let args = [
        "--strategy",
        "random",
        "--seed",
        "7",
        "--schedules",
        "300",
        "--test",
        "locks",
    ];
    assert_eq!(events(&args), events(&args));
}

#[test]
fn results_do_not_depend_on_how_many_tests_run_at_once() {
    let verdicts = |jobs| {
        let mut events = events(&["--test", "locks", "--test", "atomics", "--jobs", jobs]);
        events.retain(|event| event["type"] == "test-finished");
        events.sort_by_key(|event| event["test"].as_str().map(str::to_owned));
        events
    };
    assert_eq!(verdicts("1"), verdicts("4"));
}
