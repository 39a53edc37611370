//! Reports about operations in a dependency name the statements in the user's code.

use end_to_end::Workspace;

/// Returns the report of `chess test` or `chess explain` about the lost sale.
fn printed(command: &[&str]) -> String {
    let workspace = Workspace::shared("calls");
    workspace
        .chess(&["test", "tests::buggy"])
        .run()
        .assert_code(100);
    let said = workspace.chess(command).run().message();
    // The output before the report contains times.
    let (_, report) = said.split_once("\npanic: ").unwrap_or(("", &said));
    report.to_owned()
}

#[test]
fn a_switch_in_a_dependency_is_printed_with_the_statement_that_made_the_call() {
    insta::assert_snapshot!(printed(&["test", "tests::buggy"]));
}

#[test]
fn the_explanation_marks_the_two_statements() {
    insta::assert_snapshot!(printed(&["explain", "--last"]));
}

#[test]
fn editors_are_led_to_the_users_line() {
    let workspace = Workspace::shared("calls");
    let run = workspace
        .chess(&["test", "tests::buggy", "--message-format", "short"])
        .run();
    run.assert_code(100);
    let note = "src/lib.rs:19:24: note: task 1 is preempted before the call of Shelf::insert";
    assert!(run.stdout.contains(note), "{}", run.stdout);
}

/// Without debug information the callers are unknown, and are left out.
#[test]
fn without_debug_information_the_line_in_the_dependency_is_printed() {
    let workspace = Workspace::copy_of("calls");
    let run = workspace
        .chess(&["test", "tests::buggy"])
        .env("CARGO_PROFILE_TEST_DEBUG", "0")
        // Instrumented code has debug information in every profile.
        .env("CHESS_EXPLORE_MEMORY_ACCESSES", "ignore")
        .run();
    run.assert_code(100);
    let said = run.message();
    let switch = "task 1 is preempted before fetch_add self.calls at shelf/src/lib.rs:24";
    assert!(said.contains(switch), "{said}");
}
