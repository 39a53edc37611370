//! Variables, directories and arguments that are not UTF-8 are told of, and never passed over.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use end_to_end::{Run, Workspace};

const PASSES: &str = "#[test]\nfn counts() {}\n";

fn not_text() -> OsString {
    OsString::from_vec(b"/tmp/\xff".to_vec())
}

#[track_caller]
fn assert_says(run: &Run, code: i32, parts: &[&str]) {
    run.assert_code(code);
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not said in {run:?}");
    }
}

#[test]
fn a_variable_that_is_not_text_is_named() {
    let workspace = Workspace::with_library(PASSES);
    let with = |variable: &str| workspace.chess(&["test"]).env(variable, not_text()).run();
    assert_says(
        &with("CHESS_EXPLORE_SEED"),
        1,
        &["environment variable CHESS_EXPLORE_SEED: expected text in UTF-8, found `/tmp/"],
    );
    let cache =
        "environment variable CHESS_CACHE_DIR: expected a directory's name in UTF-8, found `/tmp/";
    assert_says(&with("CHESS_CACHE_DIR"), 1, &[cache]);
    assert_says(
        &with("CARGO_TARGET_DIR"),
        1,
        &["cargo's configuration is wrong", "CARGO_TARGET_DIR"],
    );
    let all = workspace.chess(&["clean", "--all"]);
    assert_says(&all.env("CHESS_CACHE_DIR", not_text()).run(), 1, &[cache]);
    // No directory of the system's is text: another one, or the workspace's own, serves.
    let demo = workspace
        .chess(&["demo"])
        .env("CHESS_CACHE_DIR", "")
        .env("XDG_CACHE_HOME", "")
        .env("HOME", "")
        .env("TMPDIR", not_text())
        .run();
    assert_says(
        &demo,
        1,
        &[
            "the directory for temporary files",
            "name a directory in UTF-8 for the demos with CHESS_CACHE_DIR",
        ],
    );
}

#[test]
fn an_argument_that_is_not_text_is_a_usage_error() {
    let workspace = Workspace::with_library(PASSES);
    let call = "\"$CHESS\" chess test --target-dir \"$(printf 't\\377')\"";
    let run = workspace.shell(call).run();
    assert_says(
        &run,
        1,
        &["invalid UTF-8 was detected in one or more arguments"],
    );
}

#[test]
fn a_workspace_in_a_directory_that_is_not_text_is_refused_by_cargo() {
    let workspace = Workspace::with_library(PASSES);
    let script = "there=$(printf 't\\377'); mkdir \"$there\"; cp -r Cargo.* src \"$there\"; cd \"$there\"; \
                  exec \"$CHESS\" chess test";
    let run = workspace.shell(script).run();
    assert_says(
        &run,
        102,
        &["invalid UTF-8", "cargo could not describe the workspace"],
    );
}
