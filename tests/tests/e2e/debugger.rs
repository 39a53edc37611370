//! `replay --debugger`: the places where gdb and lldb stop, their output there, and their exit.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Chess, LOSES_AN_UPDATE, Process, Run, Workspace, needs};

/// Finds the failure of `test`, and returns its id.
fn find(workspace: &Workspace, test: &str) -> String {
    let args = ["test", "--exact", test, "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let verdict = run.verdict();
    let schedule = verdict["schedule"].as_str().expect("it was saved");
    let stem = schedule.strip_suffix(".chess").expect("a schedule's file");
    stem.rsplit_once('-').expect("an id").1.to_owned()
}

/// Replays `id` in a debugger with `commands` as input, and without a terminal.
fn debug(workspace: &Workspace, id: &str, debugger: &str, commands: &[&str]) -> Run {
    let (batch, execute) = match debugger {
        "gdb" => ("-batch", "-ex"),
        _ => ("--batch", "-o"),
    };
    let mut args = vec!["replay", id, "--debugger", debugger, "--", batch];
    for command in commands {
        args.extend([execute, command]);
    }
    workspace.chess(&args).run()
}

/// Panics unless `text` contains these parts in this order.
#[track_caller]
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("`{part}` does not come in\n{rest}\nof\n{text}");
        };
        rest = after;
    }
}

/// The name of the user's function in the stacks of the fixture's bug.
const WITHDRAWS: &str = "locks::bank::Account::withdraw_in_two_sections";
const DEPOSITS: &str = "locks::bank::Account::deposit";

#[track_caller]
fn assert_reproduced(run: &Run, test: &str) {
    run.assert_code(100);
    let end = format!("  Reproduced {test}");
    let said = run.message();
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with(&end), "{run:?}");
}

#[test]
fn gdb_stops_at_the_preemption_in_the_users_line_and_shows_the_stack_of_each_task() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::shared("catalog");
    let id = find(&workspace, "bank::buggy");
    let commands = [
        "print balance",
        "tasks",
        &format!("break {DEPOSITS}"),
        "continue",
        "info threads",
        "thread apply all -q backtrace",
        "continue",
        "continue",
    ];
    let run = debug(&workspace, &id, "gdb", &commands);
    assert_reproduced(&run, "catalog::locks bank::buggy: panic");
    let parts = [
        "task 2 is preempted before Mutex::lock M1 at tests/locks/bank.rs:21; task 1 continues\n",
        &format!("in {WITHDRAWS} (self="),
        "at tests/locks/bank.rs:21\n21\t        *self.balance.lock().unwrap() = balance - amount;",
        "$1 = 100\n",
        "  main    waits in scope end at tests/locks/bank.rs:33\n",
        "  task 1  before start\n",
        "* task 2  preempted before Mutex::lock M1 at tests/locks/bank.rs:21\n",
        "deposit (",
        "\"main\"",
        "\"task 1\"",
        "\"task 2\"",
        &format!("in {WITHDRAWS} (self="),
        &format!("{DEPOSITS} (self="),
        "in locks::bank::scenario (",
        "main panics at tests/locks/bank.rs:37: assertion `left == right` failed: money was lost\n",
        "in locks::bank::scenario (",
        "37\t    assert_eq!",
        "exited normally",
    ];
    assert_in_order(&run.stdout, &parts);
}

#[test]
fn lldb_stops_at_the_preemption_in_the_users_line_and_shows_the_stack_of_each_task() {
    if !needs(&["lldb"]) {
        return;
    }
    let workspace = Workspace::shared("catalog");
    let id = find(&workspace, "bank::buggy");
    let commands = [
        "tasks",
        "breakpoint set --file bank.rs --line 16",
        "continue",
        "thread backtrace all",
        "continue",
        "continue",
    ];
    let run = debug(&workspace, &id, "lldb", &commands);
    assert_reproduced(&run, "catalog::locks bank::buggy: panic");
    let parts = [
        "task 2 is preempted before Mutex::lock M1 at tests/locks/bank.rs:21; task 1 continues",
        "withdraw_in_two_sections(self=",
        "-> 21  \t        *self.balance.lock().unwrap() = balance - amount;",
        "  main    waits in scope end at tests/locks/bank.rs:33",
        "* task 2  preempted before Mutex::lock M1 at tests/locks/bank.rs:21",
        "name = 'main'",
        "scenario(",
        "name = 'task 1'",
        "deposit(self=",
        "name = 'task 2'",
        "withdraw_in_two_sections(self=",
        "main panics at tests/locks/bank.rs:37",
        "-> 37  \t    assert_eq!",
        "exited with status = 0",
    ];
    assert_in_order(&run.stdout, &parts);
}

/// The switches that follow the preemption of the fixture's bug.
const SWITCHES: [&str; 3] = [
    "task 2 is preempted before Mutex::lock M1 at tests/locks/bank.rs:21; task 1 continues",
    "task 1 has ended; task 2 continues",
    "task 2 has ended; main continues",
];

#[test]
fn both_run_to_the_next_switch_wherever_the_project_is() {
    if !needs(&["gdb", "lldb"]) {
        return;
    }
    let workspace = Workspace::copy_called("a project", "catalog");
    let id = find(&workspace, "bank::buggy");
    for debugger in ["gdb", "lldb"] {
        let commands = ["run-to-next-switch", "run-to-next-switch"];
        let run = debug(&workspace, &id, debugger, &commands);
        // When the debugger quits, the process runs to its end.
        assert_reproduced(&run, "catalog::locks bank::buggy: panic");
        assert_in_order(&run.stdout, &SWITCHES);
    }
}

#[test]
fn a_deadlock_is_shown_with_the_call_in_which_each_task_waits() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::shared("catalog");
    let id = find(&workspace, "abba::buggy");
    let commands = ["continue", "tasks", "thread apply all -q backtrace"];
    let run = debug(&workspace, &id, "gdb", &commands);
    assert_reproduced(&run, "catalog::locks abba::buggy: deadlock");
    let parts = [
        "no task can continue: a deadlock",
        "waits in Mutex::lock M1 at tests/locks/abba.rs:",
        "locks::abba::",
    ];
    assert_in_order(&run.stdout, &parts);
}

#[test]
fn a_late_effect_is_shown_in_the_users_line() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::copy_of("weak_memory");
    workspace.write("Chess.toml", "[explore]\nmemory = \"c11\"\n");
    let id = find(&workspace, "dekker::buggy");
    let run = debug(&workspace, &id, "gdb", &["continue"; 3]);
    assert_reproduced(&run, "weak_memory::applied dekker::buggy: panic");
    let parts = [
        "task 2: load A1 at tests/applied.rs:133 takes effect before the store of task 1 at \
         tests/applied.rs:132\n",
        "133\t",
        "task 2 panics at tests/applied.rs:134",
        "exited normally",
    ];
    assert_in_order(&run.stdout, &parts);
}

#[test]
fn a_crash_is_shown_where_it_happens() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::shared("hostile");
    let id = find(&workspace, "segfault_in_some_schedules");
    let run = debug(&workspace, &id, "gdb", &["continue"]);
    assert_reproduced(&run, "hostile::crash segfault_in_some_schedules: crash");
    let parts = [
        "is preempted before",
        "crashes: invalid memory access at ",
        "at tests/crash.rs:18\n",
    ];
    assert_in_order(&run.stdout, &parts);
}

#[test]
fn an_execution_with_a_process_of_its_own_is_shown_too() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::copy_of("catalog");
    let args = ["test", "--exact", "bank::buggy", "--isolate", "fork"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let (_, id) = run.stderr.split_once("cargo chess replay ").expect("an id");
    let run = debug(&workspace, &id[..4], "gdb", &["continue"]);
    assert_reproduced(&run, "catalog::locks bank::buggy: panic");
    assert_in_order(&run.stdout, &[SWITCHES[0], "main panics at"]);
}

#[test]
fn failures_among_the_workers_of_executors_are_shown_too() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::shared("executors");
    for test in ["lost_update::buggy", "buggy", "tokio_select::buggy"] {
        let id = find(&workspace, test);
        let run = debug(
            &workspace,
            &id,
            "gdb",
            &["continue", "continue", "continue"],
        );
        assert_reproduced(&run, "executors::");
        assert_in_order(&run.stdout, &["panics at ", "\n#", "exited normally"]);
    }
}

#[test]
fn a_process_that_is_ended_in_the_debugger_has_no_verdict() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::shared("catalog");
    let id = find(&workspace, "bank::buggy");
    let run = debug(&workspace, &id, "gdb", &["kill"]);
    run.assert_code(130);
    assert!(run.message().ends_with("error: interrupted"), "{run:?}");
}

#[test]
fn a_limit_of_a_debugger_is_reported_before_the_build() {
    let workspace = Workspace::shared("catalog");
    let replay = ["replay", "0000", "--debugger", "gdb"];
    let run = workspace.chess(&replay).env("PATH", "/nowhere").run();
    run.assert_code(1);
    insta::assert_snapshot!(run.message(), @r"
    error: there is no program `gdb` in PATH.
    Install it (on Debian and Ubuntu: apt install gdb), or use --debugger lldb.
    ");
    let json = [&replay[..], &["--message-format", "json"]].concat();
    let run = workspace.chess(&json).run();
    run.assert_code(1);
    insta::assert_snapshot!(run.message(), @"error: standard output cannot have both JSON events and the output of a debugger: leave out --message-format json or --debugger");
    let run = workspace.chess(&["replay", "0000", "--", "-batch"]).run();
    run.assert_code(1);
    assert!(run.message().contains("--debugger <DEBUGGER>"), "{run:?}");
}

#[test]
fn a_program_without_debug_information_is_refused_with_a_remedy() {
    if !needs(&["gdb"]) {
        return;
    }
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    let manifest = fs::read_to_string(workspace.root().join("Cargo.toml")).expect("readable");
    let with = |profile: &str, lines: &str| {
        workspace.write("Cargo.toml", &format!("{manifest}{profile}\n{lines}\n"));
    };
    with("[profile.release]", "debug = false\nstrip = true");
    // Instrumented code has debug information in every profile.
    let ignores = |run: Chess| run.env("CHESS_EXPLORE_MEMORY_ACCESSES", "ignore");
    let test = ["test", "--release", "--message-format", "json"];
    let run = ignores(workspace.chess(&test)).run();
    run.assert_code(100);
    let saved = run.verdict()["schedule"]
        .as_str()
        .expect("saved")
        .to_owned();
    let gdb = [
        "replay",
        &*saved,
        "--debugger",
        "gdb",
        "--",
        "-batch",
        "-ex",
        "continue",
    ];
    let replay = || ignores(workspace.chess(&gdb));

    let run = replay().run();
    run.assert_code(1);
    let error = |run: &Run| {
        let said = run.message();
        let (_, error) = said.split_once("error: ").expect("an error");
        error.to_owned()
    };
    insta::assert_snapshot!(error(&run), @r#"
    small has no debug information (the profile builds none), so gdb would show neither the test's lines nor its preemptions.
    For this replay, set CARGO_PROFILE_RELEASE_DEBUG=true and CARGO_PROFILE_RELEASE_STRIP=none; permanently, set `debug = true` and `strip = "none"` below [profile.release] in Cargo.toml.
    "#);
    let advised = replay()
        .env("CARGO_PROFILE_RELEASE_DEBUG", "true")
        .env("CARGO_PROFILE_RELEASE_STRIP", "none")
        .run();
    assert_reproduced(&advised, "small counts: panic");
    assert!(
        advised.stdout.contains("at src/lib.rs:7\n7\t"),
        "{advised:?}"
    );

    // The debug information is present during compilation, and removed at the end.
    with("[profile.release]", "debug = true\nstrip = true");
    let run = replay().run();
    run.assert_code(1);
    assert!(
        run.message().contains("(the binary was stripped)"),
        "{run:?}"
    );
    // Packages from other authors have debug information, and this one has none.
    with("[profile.release]", "debug = false\nstrip = \"none\"");
    let run = replay().run();
    run.assert_code(1);
    assert!(
        run.message().contains("(the profile builds none)"),
        "{run:?}"
    );
}

/// Replays the fixture's bug in a shell script that is called gdb.
fn debug_by(script: &str, executable: bool) -> (Workspace, Process) {
    let workspace = Workspace::copy_of("catalog");
    let id = find(&workspace, "bank::buggy");
    workspace.write("bin/gdb", &format!("#!/bin/sh\n{script}\n"));
    let gdb = workspace.root().join("bin/gdb");
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(&gdb, Permissions::from_mode(mode)).expect("it is our file");
    let path = env::var("PATH").expect("there is a PATH");
    let path = format!("{}:{path}", workspace.root().join("bin").display());
    let replay = workspace.chess(&["replay", &id, "--debugger", "gdb"]);
    let process = replay.env("PATH", path).start();
    (workspace, process)
}

/// Waits until the script has written its process id to `file`, and returns the id.
fn await_script(process: &mut Process, file: &Path) -> u32 {
    let number = || fs::read_to_string(file).ok()?.trim().parse().ok();
    assert!(process.wait_until(|| number().is_some()));
    number().expect("it is there")
}

const PATIENCE: Duration = Duration::from_mins(2);

#[test]
fn a_debugger_that_cannot_attach_is_reported() {
    let (_workspace, process) = debug_by("echo 'ptrace: not permitted' >&2; exit 1", true);
    let run = process.finish(PATIENCE);
    run.assert_code(1);
    let said = run.message();
    let (_, last) = said
        .split_once("ptrace: not permitted\n")
        .expect("its words");
    let (program, rest) = last.split_once("/bin/gdb ").expect("its path");
    assert!(program.starts_with("error: /"), "{run:?}");
    insta::assert_snapshot!(rest);
}

#[test]
fn a_debugger_that_cannot_be_started_is_reported() {
    let (_workspace, process) = debug_by("", false);
    let run = process.finish(PATIENCE);
    run.assert_code(1);
    let said = run.message();
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: could not start /"), "{run:?}");
    assert!(last.ends_with("/bin/gdb: Permission denied (os error 13)"));
}

#[test]
fn ctrl_c_is_the_debuggers() {
    let script = "trap 'exit 3' INT; echo $$ > started; while :; do sleep 0.05; done";
    let (workspace, mut process) = debug_by(script, true);
    await_script(&mut process, &workspace.root().join("started"));
    process.interrupt();
    let run = process.finish(PATIENCE);
    // The tool continued until the debugger had ended.
    run.assert_code(1);
    assert!(run.message().contains("/bin/gdb ended before"), "{run:?}");
}

#[test]
fn a_tool_that_is_terminated_takes_the_debugger_with_it() {
    let script = "echo $$ > started; while :; do sleep 0.05; done";
    let (workspace, mut process) = debug_by(script, true);
    let gdb = await_script(&mut process, &workspace.root().join("started"));
    process.terminate();
    process.finish(PATIENCE).assert_code(130);
    assert!(!Path::new(&format!("/proc/{gdb}")).exists());
}
