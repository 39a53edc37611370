//! The output of a run depends only on the sources and the options.

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
    // Enough for several rounds of the longer tests.
    let args = ["--work", "1M"];
    let first = events(&args);
    assert!(first.len() > 60, "{} events", first.len());
    assert_eq!(first, events(&args));
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

/// A test that behaves differently in each execution, because it depends on a file.
const TOGGLES: &str = r#"
#[test]
fn toggles() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, SeqCst));
        if std::fs::remove_file("toggle").is_ok() {
            count.store(2, SeqCst);
        } else {
            std::fs::write("toggle", "").unwrap();
            count.load(SeqCst);
        }
    });
}
"#;

#[test]
fn the_first_difference_of_two_runs_of_one_schedule_is_reported_with_common_causes() {
    let workspace = Workspace::with_library(TOGGLES);
    let run = workspace.chess(&["test"]).run();
    let said = run.message();
    let warning = said.lines().find(|line| line.starts_with("warning"));
    insta::assert_snapshot!(warning.expect("a warning"));
}

/// A test whose first two executions have more steps than all others. It counts them in a file. The
/// first one is given up, because it shows that the tasks use files.
const SHORTER: &str = r#"
#[test]
fn shorter() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, SeqCst));
        let earlier = std::fs::read("count").map_or(0, |file| file.len());
        std::fs::write("count", vec![0; earlier + 1]).unwrap();
        if earlier < 2 {
            (0..5).for_each(|_| _ = count.fetch_add(1, SeqCst));
        }
    });
}
"#;

#[test]
fn dpor_survives_an_execution_that_is_shorter_when_it_is_repeated() {
    let workspace = Workspace::with_library(SHORTER);
    let run = workspace.chess(&["test", "--strategy", "dpor"]).run();
    run.assert_code(0);
    let said = run.message();
    assert!(
        said.contains("two runs of the first schedule differed"),
        "{said}"
    );
    assert!(said.contains("1 schedule, not deterministic"), "{said}");
}
