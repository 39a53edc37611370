//! Runs over several tests: their order, selection, exit codes and saved files.

use std::io;

use super::fake::{FAILED, Fakes, PASSED};
use crate::analysis::Detail;
use crate::cli::{NoTests, RunIgnored};
use crate::error::exit_code;
use crate::events::{Event, Outcome};
use crate::report::Reporter;
use crate::schedule::Schedule;

fn says(line: &str) -> String {
    format!("echo '{line}'")
}

fn late(line: &str) -> String {
    format!("sleep 0.3; {}", says(line))
}

fn mixed() -> Fakes {
    let progress = r#"{"type":"progress","schedules":5,"executions":5,"bound":1}"#;
    Fakes::new()
        .binary(
            "b",
            &[
                ("slow", &late(PASSED)),
                ("quick", &format!("{}; {}", says(progress), says(PASSED))),
                ("fails", &late(FAILED)),
            ],
        )
        .binary(
            "a",
            &[("also_fails", &says(FAILED)), ("last", &says(PASSED))],
        )
}

#[test]
fn results_are_reported_in_the_order_of_the_plan() {
    let mut fakes = mixed();
    fakes.options.jobs = Some(4);
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::FAILURE_FOUND);
    let order: Vec<&str> = ran
        .verdicts()
        .iter()
        .map(|test| test.test.as_str())
        .collect();
    assert_eq!(order, ["slow", "quick", "fails", "also_fails", "last"]);
}

#[test]
fn the_events_of_two_runs_are_the_same_but_for_durations() {
    for fail_fast in [false, true] {
        let mut fakes = mixed();
        fakes.options.fail_fast = fail_fast;
        fakes.options.jobs = Some(1);
        let one = fakes.run().json();
        fakes.options.jobs = Some(4);
        let other = fakes.run().json();
        assert_eq!(one, other);
    }
}

#[test]
fn progress_is_reported_at_fixed_numbers_of_schedules() {
    let progress = |schedules: u64| {
        let milestones =
            vec![r#"{"bound":1}"#; usize::try_from(schedules / 10_000).expect("a few")];
        let line = format!(
            r#"{{"type":"progress","schedules":{schedules},"bound":1,"milestones":[{}]}}"#,
            milestones.join(",")
        );
        says(&line)
    };
    let last = PASSED.replace(
        r#""schedules":7"#,
        r#""schedules":31000,"milestones":[{"bound":1},{"bound":1},{"bound":1}]"#,
    );
    let printed = |lines: &[u64]| {
        let lines: Vec<String> = lines.iter().map(|n| progress(*n)).collect();
        let body = format!("{}\n{}", lines.join("\n"), says(&last));
        let events = Fakes::new().binary("t", &[("only", &body)]).run().json();
        let printed = events.iter().filter(|event| event["type"] == "progress");
        printed
            .map(|event| format!("{} in bound {}", event["schedules"], event["bound"]))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let often = printed(&[3, 9_000, 12_000, 15_000, 29_999]);
    assert_eq!(often, printed(&[25_000]));
    insta::assert_snapshot!(often, @r"
    10000 in bound 1
    20000 in bound 1
    30000 in bound 1
    ");
}

#[test]
fn the_first_failure_in_the_plans_order_ends_the_run() {
    let mut fakes = mixed();
    fakes.options.fail_fast = true;
    fakes.options.jobs = Some(4);
    let ran = fakes.run();
    let order: Vec<&str> = ran
        .verdicts()
        .iter()
        .map(|test| test.test.as_str())
        .collect();
    assert_eq!(order, ["slow", "quick", "fails"]);
    let last = ran.json().pop().expect("an event");
    assert_eq!(
        (&last["passed"], &last["failed"], &last["not_run"]),
        (&2.into(), &1.into(), &2.into())
    );
}

#[test]
fn a_failing_schedule_is_saved_and_named_relative_to_the_workspace() {
    let fakes = Fakes::new().binary("t", &[("bank::transfer", &says(FAILED))]);
    let ran = fakes.run();
    let path = ran.verdict().schedule.clone().expect("a saved schedule");
    assert!(
        path.starts_with("target/chess/failures/bank-t-bank-transfer-"),
        "{path}"
    );
    let text = std::fs::read_to_string(fakes.root().join(&path)).expect("the file");
    let schedule = Schedule::parse(&text).expect("a schedule");
    assert_eq!(schedule.decisions, "0*2 1");
    assert_eq!(schedule.test, ran.verdict().id());
    assert!(path.ends_with(&format!("-{}.chess", schedule.id())));
    assert_eq!(fakes.run().verdict().schedule, Some(path));
}

#[test]
fn filters_and_run_ignored_select_tests() {
    let passes = says(PASSED);
    let selected = |change: &dyn Fn(&mut Fakes)| {
        let mut fakes = Fakes::new().binary(
            "t",
            &[
                ("one", &passes),
                ("one::more", &passes),
                ("two", &passes),
                ("ignored_one", &passes),
            ],
        );
        change(&mut fakes);
        let ran = fakes.run();
        let names: Vec<String> = ran
            .verdicts()
            .iter()
            .filter(|test| test.outcome != Outcome::Skipped)
            .map(|test| test.test.clone())
            .collect();
        names.join(" ")
    };
    let filters = |filters: &[&str]| filters.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(selected(&|_| ()), "one one::more two");
    assert_eq!(
        selected(&|f| f.options.filters = filters(&["more", "two"])),
        "one::more two"
    );
    assert_eq!(
        selected(&|f| {
            f.options.filters = filters(&["one"]);
            f.options.exact = true;
        }),
        "one"
    );
    assert_eq!(
        selected(&|f| f.options.run_ignored = RunIgnored::IgnoredOnly),
        "ignored_one"
    );
    assert_eq!(
        selected(&|f| f.options.run_ignored = RunIgnored::All),
        "one one::more two ignored_one"
    );
}

#[test]
fn nothing_selected_is_an_error_unless_it_may_be() {
    let mut fakes = Fakes::new().binary("t", &[("one", "exit 1"), ("ignored_two", "exit 1")]);
    fakes.options.filters = vec!["three".into(), "four".into()];
    let error = fakes.run().code.expect_err("nothing selected");
    assert_eq!(error.exit_code(), exit_code::NOTHING_SELECTED);
    insta::assert_snapshot!(error, @"
    no test matches `three` or `four`: `cargo chess list` prints the paths of all tests (2 in this build).
    Use `--no-tests pass` if a run without tests is no error.
    ");
    fakes.options.no_tests = NoTests::Pass;
    assert_eq!(fakes.run().code(), exit_code::OK);
}

#[test]
fn ignored_tests_are_reported_and_counted_but_not_run() {
    let mut fakes = Fakes::new().binary("t", &[("ignored_one", "exit 1"), ("two", &says(PASSED))]);
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::OK);
    let ignored = ran.verdicts()[0];
    assert_eq!(
        (
            ignored.test.as_str(),
            ignored.outcome,
            ignored.counts.executions
        ),
        ("ignored_one", Outcome::Skipped, 0)
    );
    insta::assert_snapshot!(
        ignored.message.as_deref().unwrap_or_default(),
        @"marked `#[ignore]`: `--run-ignored all` explores it too"
    );
    let last = ran.json().pop().expect("an event");
    assert_eq!(
        (
            &last["passed"],
            &last["skipped"],
            &last["ignored"],
            &last["not_run"]
        ),
        (&1.into(), &1.into(), &1.into(), &0.into())
    );
    fakes.options.filters = vec!["one".into()];
    let error = fakes.run().code.expect_err("nothing selected");
    insta::assert_snapshot!(error, @"
    every test that matches `one` is marked `#[ignore]`: `--run-ignored all` explores it too.
    Use `--no-tests pass` if a run without tests is no error.
    ");
}

#[test]
fn a_run_in_which_nothing_was_explored_is_an_error() {
    let fakes = Fakes::new().own_harness("bench", "exit 0");
    let ran = fakes.run();
    assert_eq!(ran.verdict().outcome, Outcome::Skipped);
    let error = ran.code.expect_err("nothing explored");
    assert_eq!(error.exit_code(), exit_code::USAGE);
    insta::assert_snapshot!(error, @"
    no test of this run is under control, so nothing was explored:
    `bank::bench main`: the binary has a test harness of its own; only `#[test]` functions of targets without `harness = false` can be explored: move the test code to such a function.
    Use `--no-tests pass` if a run without tests is no error.
    ");
}

#[test]
fn an_unfinished_bound_is_an_error_where_completeness_is_required() {
    let unfinished = PASSED.replace(r#""bound_completed":2"#, r#""bound_completed":1"#);
    let mut fakes =
        Fakes::new().binary("t", &[("one", &says(&unfinished)), ("two", &says(PASSED))]);
    assert_eq!(fakes.run().code(), exit_code::OK);
    fakes.options.require_complete = true;
    let error = fakes.run().code.expect_err("incomplete");
    assert_eq!(error.exit_code(), exit_code::INCOMPLETE);
    insta::assert_snapshot!(error, @"
    --require-complete: the search up to the preemption bound was not finished for `bank::t one`.
    Give more --work, or a smaller bound with --preemptions.
    ");
}

#[test]
fn a_test_runs_where_and_as_cargo_test_would_run_it() {
    let body = format!(
        "test \"$CARGO_PKG_NAME\" = bank && test -x ./t && read cores && test -z \"$(cat)\" && test \"$1\" = --exact && {}",
        says(PASSED)
    );
    let ran = Fakes::new().binary("t", &[("only", &body)]).run();
    assert_eq!(ran.verdict().outcome, Outcome::Passed);
}

/// A consumer of standard output that closes it after the first event.
struct HungUp(u32);

impl Reporter for HungUp {
    fn event(&mut self, _event: &Event, _detail: Option<&Detail>) -> io::Result<()> {
        self.0 += 1;
        if self.0 == 1 {
            return Ok(());
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_broken_pipe_ends_the_run_quietly() {
    let fakes = Fakes::new().binary("t", &[("one", &says(PASSED)), ("two", "sleep 1000")]);
    let mut reporter = HungUp(0);
    assert_eq!(
        fakes.run_with(&mut reporter).expect("no error"),
        exit_code::OK
    );
    assert_eq!(reporter.0, 2);
}
