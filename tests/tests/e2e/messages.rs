//! Messages about problems in the environment of a project (its tools, variables, git, files that
//! the tool has written) include a remedy.

use std::fs;
use std::path::PathBuf;

use end_to_end::{LOSES_AN_UPDATE, Workspace};
use serde_json::Value;

const PASSES: &str = "#[test]\nfn counts() {}\n#[test]\nfn another() {}\n";

#[test]
fn a_tool_that_a_variable_names_and_that_is_not_there() {
    let workspace = Workspace::with_library(PASSES);
    let test = || workspace.chess(&["test"]);
    let run = test().env("CARGO", "/nowhere/cargo").run();
    run.assert_says(102, &["could not run /nowhere/cargo", "the variable CARGO"]);
    let run = test().env("RUSTC", "/nowhere/rustc").run();
    run.assert_says(
        1,
        &[
            "could not run /nowhere/rustc",
            "`build.rustc`",
            "https://rustup.rs",
        ],
    );
    let run = test().env("RUSTC", "/bin/true").run();
    run.assert_says(1, &["/bin/true is no Rust compiler", "`build.rustc`"]);
    let run = test().env("RUSTC", "/bin/false").run();
    run.assert_says(1, &["`/bin/false --print sysroot` failed"]);
    let run = test().env("CARGO", "/bin/true").run();
    run.assert_says(
        102,
        &["`/bin/true metadata`", "could not be parsed", "CARGO"],
    );
    let run = workspace
        .chess(&["nextest"])
        .env("CARGO", "/nowhere/cargo")
        .run();
    run.assert_says(1, &["could not run /nowhere/cargo"]);
}

#[test]
fn no_toolchain_at_all() {
    let workspace = Workspace::with_library(PASSES);
    let run = workspace
        .chess(&["test"])
        .env("PATH", "")
        .env("RUSTUP_TOOLCHAIN", "")
        .run();
    run.assert_says(
        1,
        &["there is no rustc in PATH; install Rust from https://rustup.rs"],
    );
}

#[test]
fn a_caller_that_ignores_the_end_of_children_can_explore() {
    let workspace = Workspace::with_library(PASSES);
    let script = "trap '' CHLD; exec \"$CHESS\" chess test";
    workspace.shell(script).run().assert_says(0, &["2 passed"]);
}

#[test]
fn output_of_cargo_that_is_no_text() {
    let workspace = Workspace::with_library(PASSES);
    workspace.write(
        "cargo.sh",
        "#!/bin/sh\n[ \"$1\" = test ] && printf '\\377\\n'\nexec cargo \"$@\"\n",
    );
    workspace.shell("chmod +x cargo.sh").run().assert_code(0);
    let cargo = workspace.root().join("cargo.sh");
    let run = workspace.chess(&["test"]).env("CARGO", cargo).run();
    run.assert_says(101, &["could not read cargo's messages about"]);
}

#[test]
fn a_compiler_that_is_gone_in_the_middle_of_the_build() {
    let workspace = Workspace::with_library(PASSES);
    workspace.write("none.json", "{}");
    let wrapper = "CHESS_WRAPPER_INSTRUCTIONS=none.json \"$CHESS\" rustc -vV";
    let run = workspace.shell(wrapper).run();
    run.assert_says(70, &["could not start the compiler", "missing field"]);
    let runner = "CHESS_NEXTEST_BEFORE=x \"$CHESS\" nextest-runner";
    let run = workspace.shell(runner).run();
    run.assert_says(70, &["could not start the test", "CHESS_NEXTEST_BEFORE"]);
}

#[test]
fn a_demo_under_options_that_hide_its_bug() {
    let workspace = Workspace::empty();
    let run = workspace
        .chess(&["demo"])
        .env("CHESS_EXPLORE_SCHEDULES", "1")
        .run();
    run.assert_says(
        1,
        &[
            "the demo had an unexpected result: the bug of the example was not found",
            "unset CHESS_EXPLORE_SCHEDULES",
        ],
    );
}

#[test]
fn commands_and_formats_that_there_are_not() {
    let workspace = Workspace::with_library(PASSES);
    let run = workspace.chess(&["man", "tets"]).run();
    run.assert_says(1, &["there is no command `tets`", "did you mean `test`?"]);
    let run = workspace.chess(&["man", "xyz"]).run();
    run.assert_says(1, &["there is no command `xyz`; the commands are: "]);
    let run = workspace
        .chess(&["nextest", "--message-format", "short"])
        .run();
    run.assert_says(1, &["pass its `--message-format` after `--`"]);
}

#[test]
fn a_configuration_of_cargo_that_is_wrong() {
    let workspace = Workspace::with_library(PASSES);
    workspace.write(".cargo/config.toml", "[build\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_says(1, &["cargo's configuration is wrong", ".cargo/config.toml"]);
}

#[test]
fn values_that_options_cannot_have() {
    let workspace = Workspace::with_library(PASSES);
    let run = workspace
        .chess(&["test"])
        .env("CHESS_EXPLORE_LEAKS", "perhaps")
        .run();
    run.assert_says(
        1,
        &[
            "CHESS_EXPLORE_LEAKS",
            "expected `true` or `false`, found `perhaps`",
        ],
    );
    let run = workspace.chess(&["test", "--time", "0s"]).run();
    run.assert_says(1, &["expected a duration above 0, found `0s`"]);
    let run = workspace.chess(&["test", "--schedules", "0"]).run();
    run.assert_says(1, &["expected a whole number of at least 1, found `0`"]);
    let run = workspace.chess(&["test", "--shard", "3/2"]).run();
    run.assert_says(1, &["expected one of the shards 1/2 to 2/2"]);
}

#[test]
fn nothing_to_explore() {
    let workspace = Workspace::with_library("pub fn nothing() {}\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_says(
        4,
        &["the selected targets have no tests", "--no-tests pass"],
    );
}

#[test]
fn a_git_that_knows_no_branch_to_compare_with_or_is_not_there() {
    let workspace = Workspace::with_library(PASSES);
    let script = "git init --quiet --initial-branch trunk && git add -A && \
                  git -c user.name=N -c user.email=e@example.org commit --quiet -m one";
    workspace.shell(script).run().assert_code(0);
    let run = workspace.chess(&["gate"]).run();
    run.assert_says(1, &["there is no default branch to compare with", "--base"]);
    // Of the programs of a toolchain, only the compiler and cargo are installed.
    workspace.write("bin/of-rust", "");
    let bin = workspace.root().join("bin");
    for tool in ["cargo", "rustc"] {
        let script = format!("ln -s \"$(command -v {tool})\" bin/{tool}");
        workspace.shell(&script).run().assert_code(0);
    }
    let run = workspace
        .chess(&["gate", "--base", "HEAD"])
        .env("PATH", &bin)
        .run();
    run.assert_says(1, &["could not run git", "`cargo chess test`"]);
}

/// Returns a workspace, and the text of the schedule of its failure.
fn failed() -> (Workspace, String) {
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    workspace.chess(&["test"]).run().assert_code(100);
    let saved = fs::read_dir(workspace.root().join("target/chess/failures"));
    let saved = saved.expect("it was saved").flatten().next();
    let text = fs::read_to_string(saved.expect("one").path()).expect("readable");
    (workspace, text)
}

#[test]
fn a_schedule_that_was_changed() {
    let (workspace, text) = failed();
    let replay = |from: &str, to: &str, code: i32, parts: &[&str]| {
        assert!(text.contains(from), "`{from}` in {text}");
        workspace.write("changed.chess", &text.replace(from, to));
        let run = workspace.chess(&["replay", "changed.chess"]).run();
        run.assert_says(code, parts);
    };
    replay(
        "binary = \"small\"\n",
        "binary = \"large\"\n",
        1,
        &[
            "the schedule's key `binary` is `large`",
            "It must be `small` (the package)",
        ],
    );
    replay(
        "isolate = \"image\"\n",
        "isolate = \"jail\"\n",
        1,
        &["the schedule's `isolate`", "`jail`"],
    );
    replay(
        "sources = ",
        "only-run = \"never\"\nsources = ",
        1,
        &[
            "the schedule's `only-run`",
            "expected `steps` or `time`, found `never`",
        ],
    );
    replay(
        "sources = ",
        "preempted-at = [\"somewhere\"]\nsources = ",
        1,
        &[
            "changed.chess: line ",
            "for `preempted-at`, found `\"somewhere\"`",
        ],
    );
    replay(
        "sources = ",
        "cargo = \"--frobnicate\"\nsources = ",
        1,
        &[
            "the key `cargo` of the schedule contains `--frobnicate`: expected only flags of cargo for",
        ],
    );
}

#[test]
fn a_schedule_that_fails_in_another_way_by_now() {
    let (workspace, _) = failed();
    workspace.write(
        "src/lib.rs",
        &LOSES_AN_UPDATE.replace(
            "assert_eq!(count.into_inner(), 2)",
            "assert!(count.into_inner() == 2, \"too few\")",
        ),
    );
    let id = fs::read_dir(workspace.root().join("target/chess/failures"));
    let id: PathBuf = id
        .expect("it was saved")
        .flatten()
        .next()
        .expect("one")
        .path();
    let another = "this schedule now leads to another failure than the saved one, which was ";
    for (command, code) in [("replay", 100), ("explain", 0)] {
        let run = workspace.chess(&[command, &id.to_string_lossy()]).run();
        run.assert_says(code, &[another]);
    }
}

/// Returns the saved failure of a workspace, in the form for the command line.
fn saved(workspace: &Workspace) -> String {
    let failures = fs::read_dir(workspace.root().join("target/chess/failures"));
    let failure = failures.expect("it was saved").flatten().next();
    failure.expect("one").path().to_string_lossy().into_owned()
}

#[test]
fn a_schedule_that_passes_by_now() {
    let (workspace, _) = failed();
    workspace.write(
        "src/lib.rs",
        &LOSES_AN_UPDATE.replace("assert_eq!(", "let _ = ("),
    );
    let gone = "now passes under this schedule";
    let run = workspace.chess(&["replay", &saved(&workspace)]).run();
    run.assert_says(
        0,
        &[gone, "other schedules may still fail: run cargo chess test"],
    );
    let run = workspace.chess(&["explain", &saved(&workspace)]).run();
    run.assert_says(
        0,
        &[gone, "`cargo chess test` explores the other schedules"],
    );
}

#[test]
fn a_schedule_that_fails_in_the_same_way_by_other_steps() {
    let (workspace, _) = failed();
    let shorter = "scope.spawn(|| count.store(1, SeqCst))";
    let longer = "scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst))";
    workspace.write("src/lib.rs", &LOSES_AN_UPDATE.replace(longer, shorter));
    let run = workspace.chess(&["replay", &saved(&workspace)]).run();
    run.assert_says(
        100,
        &[
            "the failure is the same, but some steps of the schedule no longer fit the program",
            "the sources have changed",
        ],
    );
}

#[test]
fn a_schedule_of_a_test_that_has_another_name_by_now() {
    let (workspace, _) = failed();
    workspace.write(
        "src/lib.rs",
        &LOSES_AN_UPDATE.replace("fn counts", "fn count"),
    );
    let run = workspace.chess(&["replay", &saved(&workspace)]).run();
    run.assert_says(
        1,
        &[
            "the schedule is for the test `counts`",
            "(is it `count` now?)",
            "run `cargo chess test`",
        ],
    );
}

#[test]
fn a_regression_that_cannot_be_read() {
    let workspace = Workspace::with_library(PASSES);
    workspace.write("chess-regressions/kept.chess/file", "");
    let run = workspace.chess(&["test"]).run();
    run.assert_says(
        101,
        &["could not read the regression chess-regressions/kept.chess"],
    );
}

#[test]
fn a_file_that_is_part_of_an_expression_is_reported_as_unmarked() {
    let workspace = Workspace::with_library(&format!(
        "{PASSES}const SUM: u32 = include!(\"sum.rs\");\n#[test] fn sum() {{ assert_eq!(SUM, 2) }}\n"
    ));
    workspace.write("src/sum.rs", "1 + 1\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_says(
        0,
        &["a file is compiled without marks and overlay, because it cannot be parsed: src/sum.rs:1:1"],
    );
}

#[test]
fn a_workspace_is_the_same_by_another_name() {
    let workspace = Workspace::empty();
    workspace.write("real/src/lib.rs", PASSES);
    workspace.write(
        "real/Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    let script =
        "ln -s real link; exec \"$CHESS\" chess test --manifest-path \"$PWD/link/Cargo.toml\"";
    let run = workspace.shell(script).run();
    run.assert_says(0, &["2 passed"]);
    assert!(!run.stderr.contains("warning"), "{run:?}");
}

#[test]
fn sources_that_cannot_be_copied_are_redirected_only() {
    let workspace = Workspace::with_library(PASSES);
    workspace.chess(&["test"]).run().assert_code(0);
    let script = "cd target/chess/build/*; rm -r chess-sources; echo taken > chess-sources";
    workspace.shell(script).run().assert_code(0);
    workspace.write("src/lib.rs", &format!("{PASSES}#[test] fn third() {{}}\n"));
    let run = workspace.chess(&["test"]).run();
    run.assert_says(
        0,
        &[
            "its sources cannot be copied",
            "It was compiled without them",
        ],
    );
}

#[test]
fn shards_that_were_changed() {
    let workspace = Workspace::with_library(PASSES);
    let shard = |part: &str| {
        let args = ["test", "--shard", part, "--message-format", "json"];
        let run = workspace.chess(&args).run();
        run.assert_code(0);
        run.stdout
    };
    let (one, two) = (shard("1/2"), shard("2/2"));
    let name = |text: &str| -> String {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut names = lines.filter_map(|line| Some(line["test"].as_str()?.to_owned()));
        names.next().expect("a test")
    };
    let merge = |one: &str, two: &str| {
        workspace.write("one.jsonl", one);
        workspace.write("two.jsonl", two);
        workspace.chess(&["merge", "one.jsonl", "two.jsonl"]).run()
    };
    merge(&one, &two).assert_code(0);
    let run = merge(&one, &two.replace(&name(&two), &name(&one)));
    run.assert_says(1, &["is in more than one file", "exactly once"]);
    let whole = "Pass the output of each shard as one unchanged file.";
    let (begin, rest) = two.split_once('\n').expect("several lines");
    let not_whole = |two: &str, why: &str| merge(&one, two).assert_says(1, &[why, whole]);
    not_whole(rest, "does not begin with the event `run-started`");
    not_whole(
        &format!("{two}{two}"),
        "continues after the event `run-finished`",
    );
    not_whole(&format!("{begin}\n{two}"), "has more than one run");
    let (_, verdict) = rest.split_once('\n').expect("several lines");
    not_whole(
        &format!("{begin}\n{verdict}"),
        "before the event `test-started` of this test",
    );
    let newer = two.replacen("\"version\":\"", "\"version\":\"9", 1);
    let run = merge(&one, &newer);
    run.assert_says(
        1,
        &[
            "the shards are of different runs: the version of cargo-chess is ",
            "Run all shards with the same sources",
        ],
    );
    let ignored = two.replace("\"ignored\":0", "\"ignored\":9");
    not_whole(
        &ignored,
        "has fewer ignored tests than its event `run-finished` counts",
    );
    let run = merge(&one, &two.replacen("\"tests\":1", "\"tests\":7", 1));
    run.assert_says(
        1,
        &["the shards have 8 tests, but the whole run has 2", "again"],
    );
}

#[test]
fn packages_that_are_compiled_as_they_are_are_named() {
    let workspace = Workspace::copy_of("members");
    workspace.write("Chess.toml", "[crates.ledger]\npolicy = \"opaque\"\n");
    let run = workspace
        .chess(&["test", "-p", "tool", "--no-tests", "pass"])
        .run();
    assert!(
        run.stderr
            .contains("are compiled unchanged (policy `opaque`): ledger"),
        "{run:?}"
    );
}

#[test]
fn a_package_that_only_bears_the_name_of_one_with_an_overlay() {
    let workspace = Workspace::with_library(PASSES);
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nfutures-util = { path = \"futures-util\" }\n",
    );
    workspace.write("Cargo.lock", "version = 4\n");
    let manifest = "[package]\nname = \"futures-util\"\nversion = \"0.3.99\"\nedition = \"2024\"\n";
    workspace.write("futures-util/Cargo.toml", manifest);
    workspace.write("futures-util/src/lib.rs", "pub mod async_await;\n");
    workspace.write("futures-util/src/async_await/mod.rs", "pub mod random;\n");
    workspace.write(
        "futures-util/src/async_await/random.rs",
        "pub fn mix() {}\n",
    );
    let run = workspace.chess(&["test"]).run();
    run.assert_says(
        0,
        &["its overlay does not fit: src/async_await/random.rs has no `shuffle`"],
    );
}

#[test]
fn rewrites_that_were_not_reviewed_and_files_that_cannot_be_read() {
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    workspace
        .chess(&["rewrite", "--accept"])
        .run()
        .assert_code(0);
    workspace.write(
        "src/lib.rs",
        &LOSES_AN_UPDATE.replace("AtomicU32", "AtomicU64"),
    );
    let run = workspace.chess(&["rewrite", "--check"]).run();
    run.assert_says(
        6,
        &[
            "differ from the current rewritten code",
            "cargo chess rewrite --accept",
        ],
    );
    workspace.write("src/unused.rs", "fn {\n");
    let run = workspace.chess(&["rewrite"]).run();
    run.assert_says(
        0,
        &[
            "src/unused.rs cannot be parsed (",
            "and is compiled unchanged",
        ],
    );
}

#[test]
fn the_next_command_is_printed_at_the_end_of_a_run() {
    let later: Vec<_> = (0..20)
        .map(|number| format!("#[test] fn later_{number}() {{}}\n"))
        .collect();
    let workspace = Workspace::with_library(&format!("{LOSES_AN_UPDATE}{}", later.concat()));
    let args = [
        "test",
        "--jobs",
        "1",
        "--shard",
        "1/1",
        "--save-regressions",
    ];
    let run = workspace.chess(&args).run();
    run.assert_says(
        100,
        &[
            "commit this file: later runs begin with it",
            "(shard 1/1; `cargo chess merge` joins the shards' JSON)",
            "--no-fail-fast also runs the tests after the first failure",
        ],
    );
}
