//! `list`, `demo`, `clean`, and the report of a failure.

use end_to_end::Workspace;

#[test]
fn list_names_every_test_and_every_package() {
    let workspace = Workspace::shared("members");
    let run = workspace
        .chess(&["list", "-p", "tool", "-p", "ledger"])
        .run();
    run.assert_code(0);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn the_demo_finds_explains_and_replays_a_bug_and_verifies_its_fix() {
    let workspace = Workspace::empty();
    let run = workspace.chess(&["demo"]).run();
    run.assert_code(0);
    assert!(
        workspace.tree() == Workspace::empty().tree(),
        "the demo wrote here"
    );
}

#[test]
fn a_failure_is_explained_to_people() {
    let workspace = Workspace::shared("catalog");
    let run = workspace.chess(&["test", "--exact", "bank::buggy"]).run();
    run.assert_code(100);
    assert_eq!(run.stdout, "", "standard output is for machines");
    insta::with_settings!({
        filters => vec![
            (r"\b\d+(\.\d+)?(ms|s)\b", "[TIME]"),
            (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
                (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
        ],
    }, { insta::assert_snapshot!(run.message()) });
}

#[test]
fn clean_removes_the_written_files_and_nothing_else() {
    let workspace = Workspace::copy_of("no_std_alloc");
    workspace.chess(&["test"]).run().assert_code(100);
    workspace.write("target/mine.txt", "kept");
    workspace.chess(&["clean"]).run().assert_code(0);
    assert!(!workspace.root().join("target/chess").exists());
    assert!(workspace.root().join("target/mine.txt").exists());
    // There is nothing left to remove, which is not an error.
    workspace.chess(&["clean"]).run().assert_code(0);
}

#[test]
fn init_writes_missing_files_and_changes_nothing() {
    let workspace = Workspace::with_library("#[test]\nfn nothing() {}\n");
    let run = workspace.chess(&["init", "--ci", "github"]).run();
    run.assert_code(0);
    let job = workspace.root().join(".github/workflows/chess.yml");
    assert!(job.exists(), "{run:?}");
    workspace.chess(&["test"]).run().assert_code(0);
    workspace.write("Chess.toml", "[explore]\nseed = 1\n");
    let before = workspace.tree();
    let run = workspace.chess(&["init", "--ci", "github"]).run();
    run.assert_code(1);
    assert!(run.stderr.contains("all files exist already"), "{run:?}");
    before.assert_same_as(workspace.root());
    workspace
        .chess(&["init", "--ci", "gitlab"])
        .run()
        .assert_code(0);
    assert!(workspace.root().join("chess.gitlab-ci.yml").exists());
}
