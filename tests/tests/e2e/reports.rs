//! `--junit`, `--sarif` and GitHub's annotations: the files match their schemas, and point to the
//! user's own lines.

use std::fs;

use end_to_end::{Run, Workspace};
use quick_junit::{Report, TestCase, TestCaseStatus};
use serde_sarif::sarif::{Result as Finding, Sarif};

const TESTS: &str = r"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn no_increment_is_lost() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(count.into_inner(), 2);
}

#[test]
fn locks_are_taken_in_one_order() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| drop((a.lock().unwrap(), b.lock().unwrap())));
        scope.spawn(|| drop((b.lock().unwrap(), a.lock().unwrap())));
    });
}

#[test]
fn nothing_is_shared() {}

#[test]
#[ignore]
fn not_now() {}
";

/// Returns a workspace at the root of a repository.
fn repository() -> Workspace {
    let repository = Workspace::with_library(TESTS);
    repository.write(".git/HEAD", "ref: refs/heads/main\n");
    repository
}

fn read(workspace: &Workspace, name: &str) -> String {
    fs::read_to_string(workspace.root().join(name)).expect("the file was written")
}

fn without_times_and_names(text: &str) -> String {
    let redactions = [
        (r"chess1:[\w.-]+", "[SCHEDULE]"),
        (r"-[0-9a-f]{4,16}\.chess", "-[HASH].chess"),
        (r"replay [0-9a-f]{4,16}\b", "replay [HASH]"),
    ];
    let text = text.to_owned();
    redactions.iter().fold(text, |text, (pattern, shown)| {
        let pattern = regex::Regex::new(pattern).expect("it is a pattern");
        pattern.replace_all(&text, *shown).into_owned()
    })
}

fn explored(workspace: &Workspace, args: &[&str]) -> Run {
    let run = workspace
        .chess(&[&["test", "--no-fail-fast"], args].concat())
        .run();
    run.assert_code(100);
    run
}

#[test]
fn junit_has_a_case_for_each_test() {
    let workspace = repository();
    explored(&workspace, &["--junit", "new/chess.xml"]);
    let text = read(&workspace, "new/chess.xml");
    let report = Report::deserialize_from_str(&text).expect("it is JUnit's XML");
    assert_eq!((report.tests, report.failures, report.errors), (4, 2, 0));
    let [suite] = &*report.test_suites else {
        panic!("one binary is one suite: {text}");
    };
    assert_eq!(suite.name.as_str(), "small");
    let skipped = |case: &&TestCase| matches!(case.status, TestCaseStatus::Skipped { .. });
    let skipped = suite.test_cases.iter().filter(skipped);
    let names: Vec<&str> = skipped.map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["not_now"]);
    let failed = suite
        .test_cases
        .iter()
        .filter_map(|case| match &case.status {
            TestCaseStatus::NonSuccess { ty, .. } => {
                Some((case.name.as_str(), ty.as_ref()?.as_str()))
            }
            _ => None,
        });
    assert_eq!(
        failed.collect::<Vec<_>>(),
        [
            ("locks_are_taken_in_one_order", "deadlock"),
            ("no_increment_is_lost", "panic")
        ]
    );
}

#[test]
fn sarif_has_a_result_for_each_failure_and_the_flow_of_each_task() {
    let workspace = repository();
    explored(&workspace, &["--sarif", "chess.sarif"]);
    let text = read(&workspace, "chess.sarif");
    // The types are generated from SARIF's schema.
    let log: Sarif = serde_json::from_str(&text).expect("it is SARIF");
    let results = log.runs[0].results.as_ref().expect("there are results");
    let rules = results.iter().map(|result| result.rule_id.as_deref());
    assert_eq!(rules.collect::<Vec<_>>(), [Some("deadlock"), Some("panic")]);
    for result in results {
        let flow = &result.code_flows.as_ref().expect("a flow")[0];
        assert_eq!(flow.thread_flows.len(), 3, "main and two threads: {text}");
        let line = line_of(result).expect("a line");
        assert!((15..=23).contains(&line), "{line}: {text}");
    }
}

/// Returns the line of a result. Panics if the result is not in the package's own file.
fn line_of(result: &Finding) -> Option<i64> {
    let place = result.locations.as_ref()?.first()?;
    let place = place.physical_location.as_ref()?;
    let file = place.artifact_location.as_ref()?;
    assert_eq!(file.uri.as_deref(), Some("src/lib.rs"));
    place.region.as_ref()?.start_line
}

#[test]
fn github_shows_failures_at_their_lines_and_a_summary() {
    let workspace = repository();
    let summary = workspace.root().join("summary.md");
    let run = workspace
        .chess(&["test", "--no-fail-fast"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .run();
    run.assert_code(100);
    assert_eq!(run.stdout, "", "standard output is for programs");
    let commands: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    insta::assert_snapshot!("commands", without_times_and_names(&commands.join("\n")));
    let summary = read(&workspace, "summary.md");
    insta::assert_snapshot!("summary", without_times_and_names(&summary));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_anything_runs() {
    let workspace = repository();
    let run = workspace.chess(&["test", "--junit", "src"]).run();
    run.assert_code(1);
    assert!(
        run.stderr
            .contains("the report src cannot be written: Is a directory")
            && !run.stderr.contains("Compiling"),
        "{run:?}"
    );
}

#[test]
fn editors_read_failures_as_those_of_a_compiler() {
    let workspace = Workspace::shared("catalog");
    let args = [
        "test",
        "--exact",
        "bank::buggy",
        "--message-format",
        "short",
    ];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let lines: Vec<_> = run.stdout.lines().collect();
    let [failure, preemption] = lines[..] else {
        panic!("a failure and a preemption in {run:?}");
    };
    assert!(failure.contains(": error: catalog::"), "{failure}");
    assert!(preemption.contains(": note: task "), "{preemption}");
    for line in lines {
        let mut fields = line.split(':');
        let file = workspace.root().join(fields.next().expect("a file"));
        let numbers: Vec<usize> = fields
            .take(2)
            .map(|it| it.parse().expect("a number"))
            .collect();
        let text = std::fs::read_to_string(&file).expect("it can be opened");
        let source = text.lines().nth(numbers[0] - 1).expect("the line is there");
        assert!((1..=source.len()).contains(&numbers[1]), "{line}");
    }
}
