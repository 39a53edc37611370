//! All tests are explored briefly before any test is explored further, and the output depends on
//! the amount of work alone.

use std::time::Duration;

use end_to_end::{Run, Workspace, assert_none_is_left, without_durations};
use serde_json::Value;

/// Tests of different sizes. The larger ones need several rounds.
const TESTS: &str = r"
#[test] fn a_largest() { locked(4, 4) }
#[test] fn b_short() { locked(2, 1) }
#[test] fn c_large() { locked(3, 4) }
#[test] fn d_middle() { locked(3, 3) }
#[test] fn e_fails_late() {
    let turns = AtomicU32::new(0);
    let turn = || (0..6).for_each(|_| { turns.fetch_add(1, SeqCst); });
    let (seen, count) = (AtomicU32::new(0), AtomicU32::new(0));
    let increment = || count.store(count.load(SeqCst) + 1, SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| { turn(); increment(); seen.fetch_add(1, SeqCst); turn() });
        scope.spawn(|| { turn(); increment(); seen.fetch_add(1, SeqCst); turn() });
        scope.spawn(|| { turn(); increment(); seen.fetch_add(1, SeqCst); turn() });
    });
    assert_ne!(count.into_inner(), 1);
}
#[test] fn f_large() { locked(2, 7) }
#[test] fn g_short() { locked(2, 2) }
";

fn run(workspace: &Workspace, args: &[&str]) -> Run {
    let common = ["test", "--message-format", "json", "--no-fail-fast"];
    workspace.chess(&[&common, args].concat()).run()
}

fn events(run: &Run) -> Vec<Value> {
    without_durations(run.events())
}

fn names(run: &Run) -> Vec<String> {
    let verdicts = run.verdicts();
    let names = verdicts.iter().map(|test| test["test"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

#[test]
fn the_output_of_a_run_does_not_depend_on_the_number_of_jobs() {
    let workspace = Workspace::with_locks(TESTS);
    let one = run(&workspace, &["--jobs", "1"]);
    let several = run(&workspace, &["--jobs", "4"]);
    assert_eq!(events(&one), events(&several));
    // Tests are reported in the order in which they finish, not in the order of the list.
    let names = names(&one);
    assert_eq!(names[..2], ["b_short", "d_middle"], "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("a_largest"));
    assert_none_is_left(workspace.root());
}

#[test]
fn a_test_in_rounds_is_explored_as_it_is_alone() {
    let workspace = Workspace::with_locks(TESTS);
    let mut all = run(&workspace, &[]).verdicts();
    for test in &mut all {
        let name = test["test"].as_str().expect("a name");
        let mut alone = run(&workspace, &["--exact", name]).verdicts();
        alone[0]["duration_ms"] = test["duration_ms"].clone();
        assert_eq!(*test, alone[0]);
    }
}

#[test]
fn a_run_that_is_stopped_has_looked_at_every_test_and_says_so() {
    let workspace = Workspace::with_locks(TESTS);
    let stopped = run(&workspace, &["--time-total", "1ms"]);
    let verdicts = stopped.verdicts();
    assert_eq!(verdicts.len(), 7, "{stopped:?}");
    assert!(verdicts.iter().any(|test| test["stopped"] == "look"));
    let end = stopped.events().pop().expect("an end");
    assert_eq!(end["not_run"], 0);
    assert!(end["stopped"].as_u64() >= Some(1), "{end}");
    assert!(stopped.stderr.contains("     Stopped "), "{stopped:?}");
    let resumed = run(&workspace, &["--resume"]);
    assert_eq!(events(&resumed), events(&run(&workspace, &[])));
}

#[test]
fn an_interrupted_run_reports_the_exploration_of_each_test() {
    let workspace = Workspace::with_locks(TESTS);
    let args = [
        "test",
        "--message-format",
        "json",
        "--schedules",
        "1000000000",
        "--preemptions",
        "99",
    ];
    let mut process = workspace.chess(&args).arg("--no-fail-fast").start();
    let journal = workspace.root().join("target/chess/journal");
    // The time at which the state of a search was last saved.
    let kept = |name: &str| {
        let entries = std::fs::read_dir(&journal).into_iter().flatten().flatten();
        let of_test = entries.filter(|entry| {
            let file = entry.file_name().to_string_lossy().into_owned();
            file.contains(name) && !file.ends_with("new")
        });
        let times = of_test.filter_map(|entry| entry.metadata().ok()?.modified().ok());
        times.max()
    };
    // Both searches have saved a state, and one of them has saved a later state.
    let mut first = None;
    assert!(process.wait_until(|| {
        let now = kept("a_largest").zip(kept("c_large"));
        let is_later = first.is_some() && now != first;
        first = first.or(now);
        is_later
    }));
    process.interrupt();
    let run = process.finish(Duration::from_mins(1));
    run.assert_code(130);
    let names = names(&run);
    assert!(names.contains(&"a_largest".to_owned()), "{run:?}");
}
