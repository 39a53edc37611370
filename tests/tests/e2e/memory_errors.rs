//! Misuse of memory is found where it happens, and the report names the places of allocation and
//! free.

use end_to_end::{Chess, Expected, Run, Workspace};

fn chess(args: &[&str]) -> Chess {
    Workspace::shared("memory-errors").chess(args)
}

fn explore(test: &str) -> Run {
    chess(&["test", "--exact", test]).run()
}

fn assert_verdicts(more: &[&str]) {
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = chess(&[&args, more].concat()).run();
    run.assert_code(100);
    Expected::of(Workspace::shared("memory-errors").root()).assert_met_by(&run);
}

/// Compares the report on a failing test with a snapshot.
macro_rules! assert_report {
    ($test:literal) => {{
        let run = explore($test);
        run.assert_code(100);
        let message = Workspace::shared("memory-errors").redact(&run.message());
        insta::with_settings!({
            filters => vec![
                (r"\b\d+(\.\d+)?(ms|s)\b", "[TIME]"),
                (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
                (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
            ],
        }, { insta::assert_snapshot!(message) });
    }};
}

#[test]
fn each_error_is_found_and_each_corrected_twin_passes() {
    assert_verdicts(&["--backend", "fibers"]);
}

#[test]
fn threads_in_place_of_fibers_find_the_same() {
    assert_verdicts(&["--backend", "threads"]);
}

#[test]
fn executions_in_processes_of_their_own_find_the_same() {
    assert_verdicts(&["--isolate", "fork"]);
}

#[test]
fn executions_that_share_the_programs_memory_find_the_same() {
    assert_verdicts(&["--isolate", "tls"]);
}

#[test]
fn a_read_of_freed_memory_is_reported_with_its_places() {
    assert_report!("use_of_config::buggy");
}

#[test]
fn a_write_past_the_end_of_a_block_is_reported_with_its_places() {
    assert_report!("out_of_bounds::claimed_slot::buggy");
}

#[test]
fn a_write_to_the_stack_of_another_thread_is_reported_with_its_place() {
    assert_report!("dead_frames::returned_function::buggy");
}

#[test]
fn a_double_free_is_reported_with_its_places() {
    assert_report!("double_free::buggy");
}

#[test]
fn an_invalid_free_is_reported_with_its_place() {
    assert_report!("invalid_free::buggy");
}

#[test]
fn a_leak_is_reported_with_the_place_of_its_allocation() {
    assert_report!("leak::buggy");
}

#[test]
fn leaks_are_no_failure_unless_they_are_asked_for() {
    let run = chess(&["test", "--exact", "leak::buggy"]);
    let run = run.env("CHESS_EXPLORE_LEAKS", "false").run();
    run.assert_code(0);
    let run = chess(&["test", "--exact", "leak::buggy", "--leaks"]);
    let run = run.env("CHESS_EXPLORE_LEAKS", "false").run();
    run.assert_code(100);
}

#[test]
fn a_replay_names_the_same_places() {
    let tests = [
        "dead_frames::ended_test::buggy",
        "double_free::buggy",
        "leak::buggy",
        "out_of_bounds::claimed_slot::buggy",
        "use_of_config::buggy",
    ];
    for test in tests {
        let found = chess(&["test", "--exact", test, "--message-format", "json"]).run();
        found.assert_code(100);
        let verdict = found.verdict();
        let path = verdict["schedule"].as_str().expect("it was saved");
        let replayed = chess(&["replay", path]).run();
        replayed.assert_code(100);
        let message = verdict["message"].as_str().expect("it has words");
        for line in message.lines() {
            assert!(replayed.message().contains(line), "{replayed:?}");
        }
    }
}
