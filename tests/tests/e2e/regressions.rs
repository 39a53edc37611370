//! `chess-regressions/`: saved failures run first, and are checked again when the program has
//! changed.

use std::fs;

use end_to_end::{Run, Workspace};
use serde_json::{Value, json};

/// Two tasks load a flag, and then set it. The test is called `both_set`.
const RACE: &str = r"
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

fn set(flag: &AtomicU32) -> u32 {
    let seen = flag.load(SeqCst);
    flag.store(seen + 1, SeqCst);
    seen
}

#[test]
fn both_set() {
    let flag = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| set(&flag));
        scope.spawn(|| set(&flag));
    });
    assert_eq!(flag.into_inner(), 2);
}
";

/// A change after which the steps are the same, but the test does not fail.
const TOLERANT: (&str, &str) = ("assert_eq!(flag.into_inner(), 2)", "flag.into_inner();");
/// A correction: each task performs one step instead of two.
const MENDED: (&str, &str) = (
    "let seen = flag.load(SeqCst);\n    flag.store(seen + 1, SeqCst);\n    seen",
    "flag.fetch_add(1, SeqCst)",
);
/// A correction like [`MENDED`], with one more load. The first task loads the flag again, and can
/// be preempted before this load.
const MENDED_AND_LOOKS: (&str, &str) = (
    MENDED.0,
    "let seen = flag.fetch_add(1, SeqCst);\n    if seen == 0 {\n        flag.load(SeqCst);\n    }\n    seen",
);
/// A change that adds a load and does not correct the fault.
const STILL_RACES: (&str, &str) = (
    "let seen = flag.load(SeqCst);",
    "let _ = flag.load(SeqCst);\n    let seen = flag.load(SeqCst);",
);

fn with(change: (&str, &str)) -> String {
    let changed = RACE.replace(change.0, change.1);
    assert_ne!(changed, RACE);
    changed
}

/// Returns a workspace whose failure was found and saved, and the name of the file.
fn with_kept() -> (Workspace, String) {
    let workspace = Workspace::with_library(RACE);
    let run = workspace.chess(&["test", "--save-regressions"]).run();
    run.assert_code(100);
    let [name] = &*kept(&workspace) else {
        panic!("one schedule is kept: {run:?}");
    };
    let said = format!("Kept chess-regressions/{name}");
    assert!(run.stderr.contains(&said), "{run:?}");
    (workspace, name.clone())
}

fn kept(workspace: &Workspace) -> Vec<String> {
    let files = fs::read_dir(workspace.root().join("chess-regressions"));
    let files = files.expect("the directory is there");
    let names = files.map(|file| file.expect("a file").file_name().into_string());
    names.map(|name| name.expect("UTF-8")).collect()
}

fn test(workspace: &Workspace, args: &[&str]) -> Run {
    let base = ["test", "--message-format", "json"];
    workspace.chess(&[&base[..], args].concat()).run()
}

/// Returns the outcome of each regression of a verdict, and the warnings of the verdict.
fn regressions(verdict: &Value) -> (Vec<&str>, String) {
    let runs = verdict["regressions"].as_array().expect("a list");
    let outcomes = runs
        .iter()
        .map(|run| run["outcome"].as_str().expect("a word"));
    (outcomes.collect(), verdict["warnings"].to_string())
}

#[test]
fn a_kept_failure_runs_first_whatever_the_search_would_do() {
    let (workspace, name) = with_kept();
    let run = test(&workspace, &["--preemptions", "0", "--save-regressions"]);
    run.assert_code(100);
    let verdict = run.verdict();
    let path = format!("chess-regressions/{name}");
    let expected = json!([{ "schedule": path, "outcome": "failed" }]);
    assert_eq!(verdict["regressions"], expected);
    assert_eq!(verdict["kind"], "panic");
    assert_eq!(verdict["preemptions"], 1);
    assert_eq!(kept(&workspace), std::slice::from_ref(&name));
    // The human-readable report names the regression, which can be replayed by its id.
    let run = workspace.chess(&["test"]).run();
    let line = format!("both_set: panic (regression {path}, 1 preemption");
    assert!(run.stderr.contains(&line), "{run:?}");
    let id = name.trim_end_matches(".chess").rsplit('-').next();
    let id = id.expect("names end with an id");
    workspace.chess(&["replay", id]).run().assert_code(100);
    // With `--keep-going` the search continues, and finds the same failure.
    let verdict = test(&workspace, &["--keep-going"]).verdict();
    assert_eq!(regressions(&verdict).0, ["failed"]);
    assert!(verdict["schedules"].as_u64() > Some(1), "{verdict}");
}

#[test]
fn a_kept_failure_that_the_program_follows_and_survives_is_passed() {
    let (workspace, _) = with_kept();
    workspace.write("src/lib.rs", &with(TOLERANT));
    let run = test(&workspace, &[]);
    run.assert_code(0);
    let verdict = run.verdict();
    assert_eq!(regressions(&verdict), (vec!["passed"], "[]".to_owned()));
    assert_eq!(verdict["complete"], true, "the test is explored, too");
}

/// A failure that occurs only with `--leaks`, and one that occurs only without `--spurious never`.
const NEED_OPTIONS: &str = r"
use std::sync::{Condvar, Mutex};
use std::thread;

#[test]
fn leaks() { std::mem::forget(Box::new(7)); }

#[test]
fn waits_once() {
    let (done, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *done.lock().unwrap() = true;
            changed.notify_one();
        });
        let mut seen = done.lock().unwrap();
        if !*seen {
            seen = changed.wait(seen).unwrap();
        }
        assert!(*seen);
    });
}
";

#[test]
fn a_kept_failure_that_needs_an_option_which_is_off_is_skipped_with_a_note() {
    let workspace = Workspace::with_library(NEED_OPTIONS);
    let find = ["--no-fail-fast", "--leaks", "--save-regressions"];
    test(&workspace, &find).assert_code(100);
    assert_eq!(kept(&workspace).len(), 2);
    let run = test(&workspace, &["--spurious", "never"]);
    run.assert_code(0);
    let verdicts = run.verdicts();
    for (verdict, option) in verdicts.iter().zip(["leaks = true", "spurious = "]) {
        let (outcomes, warnings) = regressions(verdict);
        assert_eq!(outcomes, ["skipped"], "{verdict}");
        assert!(warnings.contains(option), "{warnings}");
        assert!(warnings.contains("it needs "), "{warnings}");
    }
    // With these options, the regressions run.
    let run = test(&workspace, &["--no-fail-fast", "--leaks"]);
    for verdict in run.verdicts() {
        assert_eq!(regressions(&verdict).0, ["failed"], "{verdict}");
    }
}

#[test]
fn a_kept_failure_that_no_longer_fits_is_judged_by_the_search() {
    let (workspace, _) = with_kept();
    workspace.write("src/lib.rs", &with(MENDED));
    let run = test(&workspace, &[]);
    run.assert_code(0);
    let verdict = run.verdict();
    let (outcomes, warnings) = regressions(&verdict);
    assert_eq!(outcomes, ["searched"]);
    let words = "none of the schedules with up to 1 preemption fails now";
    assert!(warnings.contains(words), "{warnings}");

    // A search that stops early cannot decide whether the failure is gone.
    let verdict = test(&workspace, &["--schedules", "1"]).verdict();
    let (outcomes, warnings) = regressions(&verdict);
    assert_eq!(outcomes, ["unknown"]);
    assert!(
        warnings.contains("use more --work or --schedules"),
        "{warnings}"
    );
}

#[test]
fn a_failure_that_is_found_again_is_saved_beside_the_old_one() {
    let (workspace, name) = with_kept();
    workspace.write("src/lib.rs", &with(STILL_RACES));
    let run = test(&workspace, &["--save-regressions"]);
    run.assert_code(100);
    let verdict = run.verdict();
    let (outcomes, warnings) = regressions(&verdict);
    assert_eq!(outcomes, ["refound", "saved"], "{verdict}");
    assert!(
        warnings.contains("another schedule has the same failure"),
        "{warnings}"
    );
    let kept = kept(&workspace);
    assert_eq!(kept.len(), 2, "nothing of the user's is removed: {kept:?}");
    assert!(kept.contains(&name));
}

#[test]
fn a_changed_program_is_searched_where_the_kept_schedule_preempts() {
    let (workspace, _) = with_kept();
    let alone = ["--strategy", "icb", "--preemptions", "0"];
    // The line has moved. The search of the test itself, with bound 0, would not preempt at all.
    workspace.write("src/lib.rs", &with(STILL_RACES));
    let run = test(&workspace, &alone);
    run.assert_code(100);
    let verdict = run.verdict();
    assert_eq!(regressions(&verdict).0, ["refound"]);
    assert_eq!(verdict["preemptions"], 1);
    assert_eq!(verdict["bound_completed"], Value::Null);
    // A failure found in this search is saved like any other.
    let found = verdict["schedule"].as_str().expect("it was saved");
    workspace.chess(&["replay", found]).run().assert_code(100);
    workspace.write("src/lib.rs", &with(MENDED_AND_LOOKS));
    let run = test(&workspace, &alone);
    run.assert_code(0);
    assert_eq!(regressions(&run.verdict()).0, ["unknown"]);
    // Without preemptions, the search already covers all schedules of this version.
    workspace.write("src/lib.rs", &with(MENDED));
    let verdict = test(&workspace, &alone).verdict();
    assert_eq!(verdict["complete"], true);
    assert_eq!(regressions(&verdict).0, ["searched"]);
}

#[test]
fn chess_toml_can_ask_for_failures_to_be_kept() {
    let workspace = Workspace::with_library(RACE);
    workspace.write("Chess.toml", "[explore]\nsave-regressions = true\n");
    test(&workspace, &[]).assert_code(100);
    assert_eq!(kept(&workspace).len(), 1);
}

#[test]
fn a_kept_failure_of_a_removed_test_is_reported() {
    let (workspace, name) = with_kept();
    workspace.write("src/lib.rs", &with(("fn both_set", "fn each_sets")));
    let run = workspace.chess(&["test", "--no-fail-fast"]).run();
    let words = format!(
        "the regression chess-regressions/{name} is for the test `small both_set`, which no longer exists"
    );
    assert!(run.stderr.contains(&words), "{run:?}");
}

#[test]
fn a_kept_file_that_is_no_schedule_is_an_error_that_names_it() {
    let (workspace, name) = with_kept();
    let path = format!("chess-regressions/{name}");
    let text = fs::read_to_string(workspace.root().join(&path)).expect("it is there");
    let changed = text.replace("kind = \"panic\"", "kind = \"panics\"");
    workspace.write(&path, &changed);
    let run = workspace.chess(&["test"]).run();
    run.assert_code(1);
    let words = format!("error: {path}: line 8: expected one of panic, deadlock");
    assert!(run.stderr.contains(&words), "{run:?}");
}
