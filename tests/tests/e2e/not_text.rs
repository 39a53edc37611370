//! Variables, directories and arguments that are not UTF-8 are reported, and never ignored.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use end_to_end::Workspace;

const PASSES: &str = "#[test]\nfn counts() {}\n";

fn not_text() -> OsString {
    OsString::from_vec(b"/tmp/\xff".to_vec())
}

#[test]
fn a_variable_that_is_not_text_is_named() {
    let workspace = Workspace::with_library(PASSES);
    let with = |variable: &str| workspace.chess(&["test"]).env(variable, not_text()).run();
    with("CHESS_EXPLORE_SEED").assert_says(
        1,
        &["environment variable CHESS_EXPLORE_SEED: expected text in UTF-8, found `/tmp/"],
    );
    let cache =
        "environment variable CHESS_CACHE_DIR: expected a directory's name in UTF-8, found `/tmp/";
    with("CHESS_CACHE_DIR").assert_says(1, &[cache]);
    with("CARGO_TARGET_DIR")
        .assert_says(1, &["cargo's configuration is wrong", "CARGO_TARGET_DIR"]);
    let all = workspace.chess(&["clean", "--all"]);
    all.env("CHESS_CACHE_DIR", not_text())
        .run()
        .assert_says(1, &[cache]);
    // Without a cache directory, the demo needs the directory for temporary files.
    let demo = workspace
        .chess(&["demo"])
        .env("CHESS_CACHE_DIR", "")
        .env("XDG_CACHE_HOME", "")
        .env("HOME", "")
        .env("TMPDIR", not_text())
        .run();
    demo.assert_says(
        1,
        &[
            "the directory for temporary files",
            "set CHESS_CACHE_DIR to a directory with a UTF-8 path",
        ],
    );
}

#[test]
fn an_argument_that_is_not_text_is_a_usage_error() {
    let workspace = Workspace::with_library(PASSES);
    let call = "\"$CHESS\" chess test --target-dir \"$(printf 't\\377')\"";
    let run = workspace.shell(call).run();
    run.assert_says(1, &["invalid UTF-8 was detected in one or more arguments"]);
}

#[test]
fn a_workspace_in_a_directory_that_is_not_text_is_refused_by_cargo() {
    let workspace = Workspace::with_library(PASSES);
    let script = "there=$(printf 't\\377'); mkdir \"$there\"; cp -r Cargo.* src \"$there\"; cd \"$there\"; \
                  exec \"$CHESS\" chess test";
    let run = workspace.shell(script).run();
    run.assert_says(
        102,
        &["invalid UTF-8", "cargo could not describe the workspace"],
    );
}
