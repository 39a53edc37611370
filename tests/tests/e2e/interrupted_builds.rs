//! A signal during a build ends the run at once, together with the compilers.

use std::fs;
use std::time::Duration;

use end_to_end::{Process, Workspace, descendants};

/// A time limit far below the duration of a build that is not ended.
const PATIENCE: Duration = Duration::from_secs(15);

/// Sends SIGTERM to the tool alone once a process below it has `command` in its command line.
fn end_while_it_runs(mut process: Process, command: &str) {
    let id = process.id();
    let runs = || {
        descendants(id)
            .iter()
            .any(|(_, line)| line.contains(command))
    };
    assert!(process.wait_until(runs), "{command} runs");
    process.terminate();
    process.finish(PATIENCE).assert_code(130);
}

#[test]
fn the_runtimes_build_is_ended_and_leaves_nothing() {
    let workspace = Workspace::copy_of("no_std_alloc");
    let cache = tempfile::tempdir().expect("a directory");
    let process = workspace
        .chess(&["test"])
        .env("CHESS_CACHE_DIR", cache.path())
        .start();
    end_while_it_runs(process, "--crate-name chess_runtime");
    let left = fs::read_dir(cache.path()).expect("it is there").flatten();
    let left: Vec<_> = left.filter(|entry| entry.path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_build_of_the_tests_is_ended() {
    let workspace = Workspace::with_library("#[test] fn passes() {}");
    let script = "fn main() { std::thread::sleep(std::time::Duration::from_secs(40)) }";
    fs::write(workspace.root().join("build.rs"), script).expect("it is written");
    end_while_it_runs(workspace.chess(&["test"]).start(), "build-script-build");
}
