//! Misbehaving test processes, and the verdicts on them.

use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;

use super::fake::{FAILED, Fakes, PASSED};
use crate::error::exit_code;
use crate::events::{Kind, Outcome};

/// A set of fakes with one test.
fn one(body: &str) -> Fakes {
    Fakes::new().binary("t", &[("only", body)])
}

/// Whether the process whose id is in the file `name` is still running.
fn runs(root: &Utf8Path, name: &str) -> bool {
    let pid = std::fs::read_to_string(root.join(name)).expect("the script wrote its id");
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim()));
    status.is_ok_and(|status| !status.contains("\nState:\tZ"))
}

#[test]
fn a_process_that_kills_itself_is_a_crash_with_the_signal_in_words() {
    let ran = one("echo 'oh no' >&2; kill -ABRT $$").run();
    assert_eq!(ran.code(), exit_code::FAILURE_FOUND);
    let verdict = ran.verdict();
    assert_eq!(
        (verdict.outcome, verdict.kind),
        (Outcome::Failed, Some(Kind::Crash))
    );
    assert_eq!(
        verdict.message.as_deref(),
        Some("the test process was killed by SIGABRT (abort) before it had a verdict")
    );
    assert_eq!(ran.detail().stderr, "oh no\n");
    assert_eq!(verdict.schedule, None);
}

#[test]
fn a_process_that_exits_without_a_verdict_is_a_crash_with_its_code() {
    for code in [0, 3] {
        let ran = one(&format!("exit {code}")).run();
        let message = format!("the test process exited with code {code} before it had a verdict");
        assert_eq!(ran.verdict().message, Some(message));
        assert_eq!(ran.verdict().kind, Some(Kind::Crash));
    }
}

#[test]
fn a_verdict_counts_whatever_the_exit_status() {
    let ran = one(&format!("echo '{PASSED}'; exit 3")).run();
    assert_eq!(ran.verdict().outcome, Outcome::Passed);
    assert_eq!(ran.code(), exit_code::OK);
}

#[test]
fn garbage_before_the_verdict_is_a_warning() {
    let ran = one(&format!(
        "echo hello; printf '\\377\\n'; echo '{{\"type\":\"news\"}}'; echo '{PASSED}'"
    ))
    .run();
    let verdict = ran.verdict();
    assert_eq!(verdict.outcome, Outcome::Passed);
    assert_eq!(
        verdict.warnings,
        ["the test process printed 2 lines in an unknown format, the first of them: `hello`"]
    );
}

#[test]
fn a_verdict_cut_off_in_the_middle_is_none() {
    let half = &PASSED[..PASSED.len() / 2];
    let ran = one(&format!("printf '%s' '{half}'")).run();
    assert_eq!(ran.verdict().kind, Some(Kind::Crash));
}

#[test]
fn a_silent_process_is_killed_and_is_a_timeout() {
    let mut fakes = one("echo $$ > pid; exec sleep 1000");
    fakes.flags.watchdog = Some(Duration::from_millis(200));
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::FAILURE_FOUND);
    let verdict = ran.verdict();
    assert_eq!((verdict.outcome, verdict.kind), (Outcome::Timeout, None));
    assert!(
        verdict
            .message
            .as_ref()
            .is_some_and(|message| message.contains("reported nothing for"))
    );
    assert!(!runs(&fakes.root(), "pid"));
}

#[test]
fn a_process_that_ignores_the_request_to_end_is_killed() {
    let mut fakes = one("trap '' TERM; echo $$ > pid; while :; do sleep 1; done");
    fakes.flags.watchdog = Some(Duration::from_millis(200));
    let ran = fakes.run();
    assert_eq!(ran.verdict().outcome, Outcome::Timeout);
    assert!(!runs(&fakes.root(), "pid"));
}

#[test]
fn a_process_that_does_not_end_after_its_verdict_is_ended() {
    let fakes = one(&format!("echo $$ > pid; echo '{PASSED}'; exec sleep 1000"));
    let ran = fakes.run();
    assert_eq!(ran.verdict().outcome, Outcome::Passed);
    assert!(!runs(&fakes.root(), "pid"));
}

#[test]
fn processes_that_a_test_leaves_running_are_ended_with_it() {
    let fakes = one(&format!("sleep 1000 & echo $! > orphan; echo '{PASSED}'"));
    let start = Instant::now();
    assert_eq!(fakes.run().verdict().outcome, Outcome::Passed);
    assert!(!runs(&fakes.root(), "orphan"));
    assert!(start.elapsed() < Duration::from_mins(1));
}

#[test]
fn an_orphan_that_holds_the_pipe_does_not_hold_up_a_crash() {
    let fakes = one("sleep 1000 & echo $! > orphan; kill -SEGV $$");
    let ran = fakes.run();
    assert_eq!(ran.verdict().kind, Some(Kind::Crash));
    assert!(
        ran.verdict()
            .message
            .as_ref()
            .is_some_and(|m| m.contains("SIGSEGV"))
    );
    assert!(!runs(&fakes.root(), "orphan"));
}

#[test]
fn an_interrupt_ends_every_process_and_keeps_the_results() {
    let hang = "echo $$ > pid-$2; sleep 1000";
    let fakes = Fakes::new().binary(
        "t",
        &[
            ("a", &format!("echo '{FAILED}'")),
            ("b", hang),
            ("c", hang),
            ("d", hang),
        ],
    );
    let interrupt = fakes.interrupt.clone();
    let root = fakes.root();
    let ran = thread::scope(|scope| {
        scope.spawn(move || {
            while !(root.join("pid-b").exists() && root.join("pid-c").exists()) {
                thread::sleep(Duration::from_millis(10));
            }
            interrupt.request();
        });
        fakes.run()
    });
    assert_eq!(ran.code(), exit_code::INTERRUPTED);
    assert_eq!(ran.verdict().test, "a");
    assert!(
        fakes
            .root()
            .join(ran.verdict().schedule.as_ref().expect("saved"))
            .exists()
    );
    assert!(!runs(&fakes.root(), "pid-b"));
    assert!(!runs(&fakes.root(), "pid-c"));
    let record = std::fs::read_to_string(fakes.root().join("target/chess/last-run.jsonl"));
    let record = record.expect("a record of the run");
    assert!(
        record.contains(r#""test":"a","outcome":"failed""#),
        "{record}"
    );
    assert!(record.trim_end().ends_with('}'));
    let last = ran.json().pop().expect("an event");
    assert_eq!((&last["failed"], &last["not_run"]), (&1.into(), &3.into()));
    assert_eq!(last["interrupted"], true);
}

#[test]
fn a_request_that_cannot_be_served_ends_the_run_with_the_reason() {
    let line = r#"{"type":"error","message":"this machine has no FSGSBASE"}"#;
    let ran = one(&format!("echo '{line}'")).run();
    let error = ran.code.expect_err("an error");
    assert_eq!(error.exit_code(), exit_code::USAGE);
    assert_eq!(
        error.to_string(),
        "cannot explore `bank::t only`: this machine has no FSGSBASE"
    );
}

#[test]
fn a_binary_that_is_not_under_control_is_an_error_not_a_pass() {
    let ran = one("echo; echo 'running 1 test'; echo 'test only ... ok'").run();
    let error = ran.code.expect_err("an error").to_string();
    assert!(
        error.starts_with("`bank::t only` is not under control"),
        "{error}"
    );
}

#[test]
fn a_binary_with_a_harness_of_its_own_is_run_once_and_not_explored() {
    let fakes = Fakes::new()
        .binary("t", &[("a", &format!("echo '{PASSED}'"))])
        .own_harness("bench", "echo any; echo text; echo run >> runs");
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::OK);
    let verdict = ran.verdicts()[1];
    assert_eq!(
        (verdict.binary.as_str(), verdict.test.as_str()),
        ("bank::bench", "main")
    );
    assert_eq!(
        (verdict.outcome, verdict.coverage.as_str()),
        (Outcome::Skipped, "not explored")
    );
    insta::assert_snapshot!(verdict.warnings.join("\n"), @"not explored, because its binary has a test harness of its own: it was run once, and exited with code 0");
    let runs = std::fs::read_to_string(fakes.root().join("runs")).expect("it ran");
    assert_eq!(runs, "run\n");
}

#[test]
fn a_binary_with_a_harness_of_its_own_can_fail() {
    let ran = Fakes::new()
        .own_harness("bench", "echo first; echo 'failed: 1' >&2; exit 2")
        .run();
    assert_eq!(ran.code(), exit_code::FAILURE_FOUND);
    assert_eq!(ran.verdict().kind, Some(Kind::Crash));
    assert_eq!(
        ran.verdict().message.as_deref(),
        Some("the test process exited with code 2")
    );
    assert_eq!(ran.detail().finished.output, "first");
    assert_eq!(ran.detail().stderr, "failed: 1\n");
}

#[test]
fn of_a_long_output_of_a_binary_with_a_harness_of_its_own_the_middle_is_left_out() {
    let ran = Fakes::new().own_harness("bench", "seq 1000; exit 2").run();
    let output = &ran.detail().finished.output;
    assert!(
        output.starts_with("1\n2\n3\n4\n5\n... 895 lines left out ...\n901\n"),
        "{output}"
    );
    assert!(output.ends_with("\n1000"), "{output}");
}

#[test]
fn a_binary_that_cannot_list_its_tests_is_an_error_that_says_why() {
    let errors: Vec<String> = [
        "echo 'usage: t' >&2; exit 2",
        "echo 'hello world'",
        "kill -SEGV $$",
    ]
    .iter()
    .map(|body| {
        Fakes::new()
            .script("t", body)
            .run()
            .code
            .expect_err("an error")
            .to_string()
    })
    .collect();
    insta::assert_snapshot!(errors.join("\n\n"));
}

#[test]
fn a_budget_that_ends_in_the_first_execution_is_reported() {
    let line = r#"{"type":"finished","outcome":"timeout","schedules":0,"executions":0,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0}"#;
    let ran = one(&format!("echo '{line}'")).run();
    insta::assert_snapshot!(
        ran.verdict().message.as_deref().unwrap_or_default(),
        @"the time limit was reached before the first execution ended: use a larger --time"
    );
}

#[test]
fn our_own_messages_are_the_same_on_every_machine() {
    let path = "/home/u/.cargo/registry/src/index-0123456789abcdef/lock-1.0.0/src/raw.rs:104";
    for (outcome, shown) in [
        (
            r#""timeout""#,
            "reached no scheduling point for 60 s after load at lock-1.0.0/src/raw.rs:104",
        ),
        // The message of a panic belongs to the program.
        (
            r#""failed","kind":"panic""#,
            &*format!("reached no scheduling point for 60 s after load at {path}"),
        ),
    ] {
        let line = format!(
            r#"{{"type":"finished","outcome":{outcome},"schedules":0,"executions":0,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0,"message":"reached no scheduling point for 60 s after load at {path}"}}"#
        );
        let ran = one(&format!("echo '{line}'")).run();
        assert_eq!(ran.verdict().message.as_deref(), Some(shown));
    }
}
