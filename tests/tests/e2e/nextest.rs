//! cargo nextest runs the tests: each test that it runs is explored.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use end_to_end::{Chess, Run, Workspace, wants};
use serde_json::Value;
use tempfile::TempDir;

/// A script that records its arguments and environment.
const NOTES: &str = r#"#!/bin/sh
[ "$2" = --version ] && exit 0
printf '%s\n' "$@" > "$NOTES/arguments"
env > "$NOTES/environment"
"#;

const TESTS: &str = r#"
use std::sync::Mutex;
use std::thread;

fn adds(both_under_one_lock: bool) {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if both_under_one_lock {
                    *sum.lock().unwrap() += 1;
                } else {
                    let before = *sum.lock().unwrap();
                    *sum.lock().unwrap() = before + 1;
                }
            });
        }
    });
    assert_eq!(sum.into_inner().unwrap(), 2);
}

#[test]
fn buggy() { adds(false) }

#[test]
fn right() { adds(true) }

#[test]
#[ignore]
fn ignored() { adds(false) }

#[test]
fn its_environment_is_the_users() {
    assert_eq!(std::env::var("CARGO_TARGET_DIR").ok(), None);
    assert!(std::env::vars().all(|(name, _)| !name.starts_with("CHESS_WRAPPER")));
    assert_eq!(std::env::var("RUSTC_WRAPPER").ok(), None);
}
"#;

/// A call of cargo nextest: the arguments and the environment that `cargo chess nextest` passes.
struct NextestCall {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    binary: String,
    workspace: Workspace,
}

/// Calls the tool with `args`, and a cargo nextest that only records its call.
fn call(args: &[&str]) -> NextestCall {
    call_in(Workspace::with_library(TESTS), args)
}

fn call_in(workspace: Workspace, args: &[&str]) -> NextestCall {
    let (tools, path) = nextest_as(NOTES);
    let run = workspace
        .chess(&[&["nextest"], args].concat())
        .env("PATH", path)
        .env("NOTES", tools.path())
        .run();
    run.assert_code(0);
    let note = |name| fs::read_to_string(tools.path().join(name)).expect("it was called");
    let environment = note("environment");
    let lines = environment.lines().filter_map(|line| line.split_once('='));
    NextestCall {
        arguments: note("arguments").lines().map(str::to_owned).collect(),
        environment: lines
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        binary: binary(&workspace),
        workspace,
    }
}

/// Returns a directory with `script` as cargo nextest, and a `PATH` that begins with it.
fn nextest_as(script: &str) -> (TempDir, String) {
    let tools = tempfile::tempdir().expect("a directory for the tool");
    let tool = tools.path().join("cargo-nextest");
    fs::write(&tool, script).expect("writable");
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).expect("its owner may");
    let path = std::env::var("PATH").expect("it is set");
    let path = format!("{}:{path}", tools.path().display());
    (tools, path)
}

/// Returns the only test binary of the build.
fn binary(workspace: &Workspace) -> String {
    let builds = fs::read_dir(workspace.root().join("target/chess/build")).expect("it is built");
    let mut files = builds
        .flatten()
        .map(|it| it.path().join("chess-session.json"));
    let file = files.find(|file| file.exists()).expect("it was saved");
    let text = fs::read_to_string(file).expect("readable");
    let saved: Value = serde_json::from_str(&text).expect("JSON");
    let path = &saved["build"]["binaries"][0]["path"];
    path.as_str().expect("a path").to_owned()
}

impl NextestCall {
    /// Starts the binary through the runner, as cargo nextest does.
    fn run(&self, args: &[&str]) -> Run {
        let at = self
            .arguments
            .iter()
            .position(|it| it == "--config")
            .expect("it has one");
        let (key, words) = self.arguments[at + 1]
            .split_once(" = ")
            .expect("key and value");
        assert_eq!(key, "target.x86_64-unknown-linux-gnu.runner");
        let value: toml::Table = toml::from_str(&format!("words = {words}")).expect("TOML");
        let words = value["words"].as_array().expect("a list").iter();
        let words = words.map(|word| word.as_str().expect("a string"));
        let mut call = Chess::in_shell(self.workspace.root(), "exec \"$@\"").arg("sh");
        for word in words
            .chain([self.binary.as_str()])
            .chain(args.iter().copied())
        {
            call = call.arg(word);
        }
        for (name, value) in &self.environment {
            call = call.env(name, value);
        }
        call.run()
    }
}

#[test]
fn the_runner_lists_as_the_binary_does_and_explores_each_test() {
    let call = call(&["--schedules", "500"]);
    let list = call.run(&["--list", "--format", "terse"]);
    list.assert_code(0);
    let expected = "buggy: test\nignored: test\nits_environment_is_the_users: test\nright: test\n";
    assert_eq!(list.stdout, expected);
    let ignored = call.run(&["--list", "--format", "terse", "--ignored"]);
    assert_eq!(ignored.stdout, "ignored: test\n");
    let failed = call.run(&["--exact", "buggy", "--nocapture"]);
    failed.assert_code(100);
    assert!(failed.stderr.contains("1 preemption"), "{failed:?}");
    assert!(
        failed.stderr.contains("500 schedules per test"),
        "{failed:?}"
    );
    let passed = call.run(&["--exact", "right", "--nocapture"]);
    passed.assert_code(0);
    assert!(passed.stderr.contains("complete"), "{passed:?}");
    call.run(&["--exact", "ignored", "--nocapture", "--ignored"])
        .assert_code(100);
    call.run(&["--exact", "its_environment_is_the_users"])
        .assert_code(0);
    // The failures are saved, and can be replayed.
    let saved = fs::read_dir(call.workspace.root().join("target/chess/failures"));
    for schedule in saved.expect("failures").flatten() {
        let schedule = schedule.path().to_string_lossy().into_owned();
        call.workspace
            .chess(&["replay", &schedule])
            .run()
            .assert_code(100);
    }
}

#[test]
fn cargo_nextest_receives_the_selection_and_never_retries() {
    let call = call(&[
        "list",
        "--lib",
        "--release",
        "-j",
        "2",
        "--",
        "-E",
        "test(bank)",
    ]);
    let words: Vec<_> = call.arguments.iter().map(String::as_str).collect();
    assert_eq!(words[..4], ["nextest", "list", "--lib", "--release"]);
    assert_eq!(words[words.len() - 2..], ["-E", "test(bank)"]);
    assert!(
        words.windows(2).any(|it| it == ["--build-jobs", "2"]),
        "{words:?}"
    );
    assert!(
        !words.contains(&"--retries"),
        "it would refuse that: {words:?}"
    );
    let call = call_in(call.workspace, &["-j", "2"]);
    let words: Vec<_> = call.arguments.iter().map(String::as_str).collect();
    assert!(
        words.windows(2).any(|it| it == ["--retries", "0"]),
        "{words:?}"
    );
    assert!(
        words.windows(2).any(|it| it == ["--test-threads", "2"]),
        "{words:?}"
    );
}

#[test]
fn without_cargo_nextest_the_error_has_a_remedy() {
    let workspace = Workspace::with_library(TESTS);
    let (_tools, path) = nextest_as("#!/bin/sh\nexit 101\n");
    let run = workspace.chess(&["nextest"]).env("PATH", path).run();
    run.assert_code(1);
    assert!(
        run.stderr.contains("cargo install cargo-nextest --locked"),
        "{run:?}"
    );
    let run = workspace
        .chess(&["nextest", "--message-format", "json"])
        .run();
    run.assert_code(1);
    assert!(run.stderr.contains("after `--`"), "{run:?}");
}

#[test]
fn options_of_the_runner_are_checked_as_others_are() {
    let call = call(&[]);
    let root = call.workspace.root().to_string_lossy().into_owned();
    let call = |option: &str| {
        let directories = ["--workspace-root", &root, "--chess-dir", "target/chess"];
        let test = ["--option", option, "--", &call.binary, "--exact", "right"];
        let run = call
            .workspace
            .chess(&[&["nextest-runner"], &directories[..], &test].concat())
            .run();
        run.assert_code(1);
        run.stderr
    };
    assert!(call("seed").contains("--option seed: it has no `=`"));
    assert!(call("sead=1").contains("did you mean `seed`?"));
}

#[test]
fn a_binary_of_which_nothing_is_known_is_no_silent_pass() {
    let call = call(&[]);
    let file = PathBuf::from(&call.binary);
    let elsewhere = call.workspace.root().join("elsewhere");
    fs::copy(file, &elsewhere).expect("a copy");
    let call = NextestCall {
        binary: elsewhere.to_string_lossy().into_owned(),
        ..call
    };
    let run = call.run(&["--exact", "right", "--nocapture"]);
    run.assert_code(1);
    assert!(
        run.stderr.contains("cargo chess nextest archive"),
        "{run:?}"
    );
}

#[test]
fn cargo_nextest_selects_divides_and_packs_the_tests() {
    if !wants("cargo nextest") {
        return;
    }
    let workspace = Workspace::with_library(TESTS);
    let run = workspace.chess(&["nextest", "--", "--no-fail-fast"]).run();
    run.assert_code(100);
    assert!(
        run.stderr
            .contains("3 tests run: 2 passed, 1 failed, 1 skipped"),
        "{run:?}"
    );
    assert!(run.stderr.contains("1 preemption"), "{run:?}");
    let run = workspace
        .chess(&["nextest", "--", "-E", "test(right)"])
        .run();
    run.assert_code(0);
    assert!(
        run.stderr.contains("1 test run: 1 passed, 3 skipped"),
        "{run:?}"
    );
    let part = |part: &str| {
        let run = workspace
            .chess(&["nextest", "--", "--no-fail-fast", "--partition", part])
            .run();
        run.code.expect("an exit code")
    };
    let codes = [part("slice:1/3"), part("slice:2/3"), part("slice:3/3")];
    assert_eq!(
        codes.iter().filter(|code| **code == 100).count(),
        1,
        "{codes:?}"
    );

    let archive = [
        "nextest",
        "archive",
        "--",
        "--archive-file",
        "tests.tar.zst",
    ];
    workspace.chess(&archive).run().assert_code(0);
    // The machine that runs the archive has the sources in another directory, and builds nothing.
    let other = Workspace::with_library(TESTS);
    fs::copy(
        workspace.root().join("tests.tar.zst"),
        other.root().join("tests.tar.zst"),
    )
    .expect("a copy");
    let args = [
        "nextest",
        "--preemptions",
        "1",
        "--",
        "--archive-file",
        "tests.tar.zst",
    ];
    let run = other
        .chess(&args)
        .arg("--workspace-remap")
        .arg(".")
        .arg("--no-fail-fast")
        .run();
    run.assert_code(100);
    assert!(
        run.stderr
            .contains("3 tests run: 2 passed, 1 failed, 1 skipped"),
        "{run:?}"
    );
    assert!(run.stderr.contains("up to 1 preemption"), "{run:?}");
    assert!(
        other.root().join("target/chess/failures").exists(),
        "{run:?}"
    );
    assert!(!other.root().join("target/chess/build").exists(), "{run:?}");
}
