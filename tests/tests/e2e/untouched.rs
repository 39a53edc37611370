//! The user's files outside `target` are unchanged after any command, also after an interrupted
//! one.

use std::thread;
use std::time::Duration;

use end_to_end::{Process, Workspace, descendants, is_test_process};

#[test]
fn no_command_changes_the_tree() {
    let workspace = Workspace::copy_of("catalog");
    let before = workspace.tree();
    let run = workspace
        .chess(&["test", "--message-format", "json", "bank::buggy"])
        .run();
    run.assert_code(100);
    before.assert_same_as(workspace.root());
    let schedule = run.verdict()["schedule"].as_str().unwrap().to_owned();
    let commands: [&[&str]; 5] = [
        &["list"],
        &["replay", &schedule],
        &["test", "no such test"],
        &["test", "--preemptions", "many"],
        &["clean"],
    ];
    for command in commands {
        workspace.chess(command).run();
        before.assert_same_as(workspace.root());
    }
}

#[test]
fn another_target_directory_takes_everything() {
    let workspace = Workspace::copy_of("no_std_alloc");
    let elsewhere = Workspace::empty();
    let before = workspace.tree();
    let run = workspace
        .chess(&["test", "--target-dir"])
        .arg(elsewhere.root())
        .run();
    run.assert_code(100);
    before.assert_same_as(workspace.root());
    assert!(!workspace.root().join("target").exists());
    assert!(elsewhere.root().join("chess").exists());
}

/// A run that is long enough to be interrupted in the middle.
const LONG_RUN: [&str; 8] = [
    "test",
    "--no-fail-fast",
    "--message-format",
    "json",
    "--strategy",
    "random",
    "--schedules",
    "1000000000",
];

/// The times after the start at which a command is interrupted, in milliseconds.
const MOMENTS: [u64; 5] = [5, 60, 250, 700, 1500];

#[test]
fn an_interrupted_run_changes_nothing_and_says_so() {
    let workspace = Workspace::copy_of("catalog");
    let before = workspace.tree();
    for moment in MOMENTS {
        let process = workspace.chess(&LONG_RUN).start();
        thread::sleep(Duration::from_millis(moment));
        process.interrupt();
        let run = process.finish(Duration::from_secs(20));
        before.assert_same_as(workspace.root());
        // Before the tool handles signals, SIGINT ends it directly.
        assert!(run.code == Some(130) || run.signal == Some(2), "{run:?}");
    }
}

/// Waits until one of the processes below the tool runs a test.
fn wait_until_it_explores(process: &mut Process) {
    let id = process.id();
    let explores = || {
        let below = descendants(id);
        below.iter().any(|(_, line)| is_test_process(line))
    };
    assert!(process.wait_until(explores), "a test process starts");
}

/// The tool is started with SIGHUP ignored, as under `nohup`.
#[test]
fn a_run_that_is_to_ignore_the_end_of_its_terminal_continues() {
    let workspace = Workspace::shared("catalog");
    let script =
        r#"trap '' HUP; exec "$CHESS" test --strategy random --time 3s philosophers::fixed"#;
    let mut process = workspace.shell(script).start();
    wait_until_it_explores(&mut process);
    process.hang_up();
    let run = process.finish(Duration::from_mins(1));
    run.assert_code(0);
    assert!(run.stderr.contains("1 passed, 0 failed"), "{run:?}");
}

#[test]
fn results_so_far_survive_an_interrupt() {
    let workspace = Workspace::shared("catalog");
    let mut process = workspace
        .chess(&LONG_RUN)
        .arg("sixteen")
        .arg("philosophers")
        .start();
    wait_until_it_explores(&mut process);
    thread::sleep(Duration::from_millis(300));
    process.interrupt();
    let run = process.finish(Duration::from_secs(20));
    run.assert_code(130);
    let last = run.events().pop().expect("there are events");
    assert_eq!(last["type"], "run-finished", "{run:?}");
}

#[test]
fn a_killed_run_leaves_the_tree_and_the_next_run_alone() {
    let workspace = Workspace::copy_of("no_std_alloc");
    let before = workspace.tree();
    for moment in MOMENTS {
        let mut process = workspace.chess(&["test", "--preemptions", "9"]).start();
        thread::sleep(Duration::from_millis(moment));
        let below = descendants(process.id());
        process.kill();
        process.wait_until(|| false);
        process.finish(Duration::from_secs(20));
        before.assert_same_as(workspace.root());
        assert_end(&below);
    }
    let run = workspace
        .chess(&["test", "--no-fail-fast", "--message-format", "json"])
        .run();
    run.assert_code(100);
    assert_eq!(run.verdicts().len(), 2);
    before.assert_same_as(workspace.root());
}

/// Checks that test processes do not outlive the tool for long. Compilers end by themselves.
fn assert_end(processes: &[(u32, String)]) {
    let alive = |id: &u32| std::path::Path::new(&format!("/proc/{id}/fd/0")).exists();
    for _ in 0..200 {
        if !processes
            .iter()
            .any(|(id, line)| is_test_process(line) && alive(id))
        {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("test processes outlive the tool: {processes:?}");
}
