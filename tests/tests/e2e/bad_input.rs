//! Wrong input: the message names the problem, and the exit code is the documented one.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::{Run, Workspace};

const ONE_TEST: &str = "\
#[test]
fn counts() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, Ordering::SeqCst));
        count.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(count.into_inner(), 2);
}
";

/// Compares the message on standard error with a snapshot.
macro_rules! assert_message {
    ($workspace:expr, $run:expr) => {{
        let message = $workspace.redact(&$run.message());
        insta::with_settings!({
            filters => vec![
                (r"\b\d+(\.\d+)?(ms|s)\b", "[TIME]"),
                (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
                (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
                (r"\(os error \d+\)", "(os error [N])"),
                // The file that cannot be written, and the compilation unit that fails first, vary
                // between runs.
                (r"could not write \S+:", "could not write [FILE]:"),
                (r"(error: could not compile|warning: build failed).*\n", ""),
            ],
        }, { insta::assert_snapshot!(message) });
    }};
}

fn test_with_config(config: &str) -> (Workspace, Run) {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write("Chess.toml", config);
    let run = workspace.chess(&["test"]).run();
    (workspace, run)
}

#[test]
fn a_directory_without_a_manifest() {
    // The directory is outside of this repository: otherwise cargo would find the manifest of the
    // repository.
    let outside = tempfile::tempdir().unwrap();
    let run = end_to_end::Chess::new(outside.path(), &["test"]).run();
    run.assert_code(102);
    let message = run
        .message()
        .replace(&*outside.path().to_string_lossy(), "[ROOT]");
    insta::assert_snapshot!(message);
}

#[test]
fn an_unknown_key_in_the_configuration() {
    let (workspace, run) = test_with_config("[explore]\npreemption = 3\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn an_unknown_table_in_the_configuration() {
    let (workspace, run) = test_with_config("[exploration]\npreemptions = 3\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_value_of_the_wrong_type_in_the_configuration() {
    let (workspace, run) = test_with_config("[explore]\npreemptions = \"three\"\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn an_unknown_crate_in_the_configuration() {
    let (workspace, run) = test_with_config("[crates.smal]\npolicy = \"preempt\"\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn an_unknown_policy_in_the_configuration() {
    let (workspace, run) = test_with_config("[policy]\nworkspace = \"preemptive\"\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_configuration_that_is_no_toml() {
    let (workspace, run) = test_with_config("[explore\npreemptions = 3\n");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn an_unknown_profile_of_the_configuration() {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write("Chess.toml", "[profile.ci.explore]\nschedules = 10\n");
    let run = workspace.chess(&["test", "--profile", "cii"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_filter_in_the_configuration_that_matches_nothing() {
    let config = "[[test]]\nfilter = \"cuonts\"\nexplore = { preemptions = 1 }\n";
    let (workspace, run) = test_with_config(config);
    run.assert_code(0);
    assert_message!(workspace, run);
}

#[test]
fn a_variable_of_the_wrong_type() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace
        .chess(&["test"])
        .env("CHESS_EXPLORE_PREEMPTIONS", "some")
        .run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_filter_that_matches_nothing() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace.chess(&["test", "cuonts"]).run();
    run.assert_code(4);
    assert_message!(workspace, run);
    let run = workspace
        .chess(&["test", "cuonts", "--no-tests", "pass"])
        .run();
    run.assert_code(0);
}

#[test]
fn a_package_that_does_not_exist() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace.chess(&["test", "-p", "smal"]).run();
    // The exit code is that of `cargo test`, whose message is printed unchanged.
    run.assert_code(101);
    assert_message!(workspace, run);
}

#[test]
fn source_that_does_not_compile() {
    let workspace = Workspace::with_library("use std::sync::Mutexx;\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_code(101);
    assert_message!(workspace, run);
}

#[test]
fn source_with_a_type_error_at_a_facade() {
    let source =
        "pub fn f() -> std::sync::Mutex<u32> {\n    std::sync::Mutex::new(\"no number\")\n}\n";
    let workspace = Workspace::with_library(source);
    let run = workspace.chess(&["test"]).run();
    run.assert_code(101);
    assert_message!(workspace, run);
}

#[test]
fn a_manifest_that_is_broken() {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write("Cargo.toml", "[package\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_code(102);
    assert_message!(workspace, run);
}

#[test]
fn a_schedule_that_does_not_exist() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace.chess(&["replay", "nowhere.chess"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_schedule_file_that_is_none() {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write("picture.chess", "\u{89}PNG\r\n");
    let run = workspace.chess(&["replay", "picture.chess"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

/// Returns a saved failure of the fixture `no_std_alloc`, in a separate copy.
fn failing() -> (Workspace, String) {
    let workspace = Workspace::copy_of("no_std_alloc");
    let run = workspace
        .chess(&["test", "buggy", "--message-format", "json"])
        .run();
    run.assert_code(100);
    let schedule = run.verdict()["schedule"].as_str().unwrap().to_owned();
    (workspace, schedule)
}

#[test]
fn a_schedule_of_another_project() {
    let (workspace, schedule) = failing();
    let other = Workspace::with_library(ONE_TEST);
    fs::copy(
        workspace.root().join(schedule),
        other.root().join("foreign.chess"),
    )
    .unwrap();
    let run = other.chess(&["replay", "foreign.chess"]).run();
    run.assert_code(1);
    assert_message!(other, run);
}

/// Replaces `from` by `to` in the source of the test, and then replays a saved failure.
fn replay_after_a_change(from: &str, to: &str) -> (Workspace, Run) {
    let (workspace, schedule) = failing();
    let path = workspace.root().join("tests/registry.rs");
    let source = fs::read_to_string(&path).unwrap();
    let changed = source.replace(from, to);
    assert_ne!(source, changed);
    fs::write(path, changed).unwrap();
    let run = workspace.chess(&["replay", &schedule]).run();
    (workspace, run)
}

#[test]
fn a_schedule_that_no_longer_fits_the_program() {
    let from = "scenario(Registry::add_check_then_act)";
    let (workspace, run) = replay_after_a_change(from, "scenario(Registry::add)");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_schedule_longer_than_the_program() {
    // Without a second task there are no decisions.
    let from = "scope.spawn(|| add(&registry, \"theirs\"));";
    let (workspace, run) = replay_after_a_change(from, "let _ = scope;");
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_schedule_that_still_fits_a_changed_program() {
    // The operations before the start of a second task are not decisions.
    let from = "let registry = Registry::new(1);";
    let to = "let registry = Registry::new(1);\n    assert!(registry.is_empty());";
    let (workspace, run) = replay_after_a_change(from, to);
    run.assert_code(100);
    assert_message!(workspace, run);
}

#[test]
fn a_schedule_that_was_cut_short() {
    let (workspace, schedule) = failing();
    let path = workspace.root().join(&schedule);
    let text = fs::read_to_string(&path).unwrap();
    let cut = text.trim_end().rsplit_once(char::is_whitespace).unwrap().0;
    workspace.write("cut.chess", cut);
    let run = workspace.chess(&["replay", "cut.chess"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_c_library_that_is_linked_statically() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace
        .chess(&["test"])
        .env("RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_target_that_cannot_be_explored() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace
        .chess(&["test", "--target", "wasm32-unknown-unknown"])
        .run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_configured_target_that_cannot_be_explored() {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write(
        ".cargo/config.toml",
        "[build]\ntarget = \"wasm32-unknown-unknown\"\n",
    );
    let run = workspace.chess(&["test"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_flag_that_does_not_exist() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace.chess(&["test", "--preemtions", "3"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

#[test]
fn a_strategy_that_does_not_exist() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = workspace.chess(&["test", "--strategy", "icp"]).run();
    run.assert_code(1);
    assert_message!(workspace, run);
}

/// Returns a script that mounts `mount` on the target directory, in its own mount namespace, and
/// then runs the tests.
fn test_on_mount(mount: &str) -> String {
    format!("mkdir target; mount -t tmpfs -o {mount} tmpfs target; exec \"$CHESS\" test")
}

/// Runs a script of [`test_on_mount`].
///
/// # Panics
/// If mounts are not possible. So no test is skipped silently.
fn in_mount_namespace(workspace: &Workspace, script: &str) -> Run {
    let unshare = ["--map-root-user", "--mount"];
    let works = Command::new("unshare").args(unshare).arg("true").status();
    assert!(
        works.is_ok_and(|status| status.success()),
        "`unshare --map-root-user --mount` must work to try a full and a read-only disk"
    );
    workspace
        .shell(&format!(
            "exec unshare --map-root-user --mount sh -euc '{script}'"
        ))
        .run()
}

#[test]
fn a_full_disk() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = in_mount_namespace(&workspace, &test_on_mount("size=64k"));
    run.assert_code(101);
    assert!(run.stderr.contains("No space left on device"), "{run:?}");
}

#[test]
fn a_disk_that_is_full_for_the_runtime_too() {
    let workspace = Workspace::with_library(ONE_TEST);
    let script = test_on_mount("size=64k").replace("exec", "CHESS_CACHE_DIR=target/cache exec");
    let run = in_mount_namespace(&workspace, &script);
    run.assert_code(101);
    assert_message!(workspace, run);
}

#[test]
fn a_target_directory_that_cannot_be_written() {
    let workspace = Workspace::with_library(ONE_TEST);
    let run = in_mount_namespace(&workspace, &test_on_mount("ro"));
    run.assert_code(101);
    assert_message!(workspace, run);
}

#[test]
fn a_file_in_the_place_of_the_target_directory() {
    let workspace = Workspace::with_library(ONE_TEST);
    workspace.write("target", "");
    let run = workspace.chess(&["test"]).run();
    run.assert_code(101);
    assert_message!(workspace, run);
    assert!(Path::new(&workspace.root().join("target")).is_file());
}
