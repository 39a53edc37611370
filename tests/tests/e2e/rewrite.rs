//! `rewrite`: the redirections and edits of code can be listed, reviewed and pinned.

use end_to_end::{Chess, Workspace, source_of};

/// The fixtures that have snapshots of their rewritten files.
const KEPT: [&str; 2] = ["members", "parking_lot"];

#[test]
fn the_snapshots_of_the_fixtures_are_the_rewritten_files() {
    for fixture in KEPT {
        let run = Chess::new(&source_of(fixture), &["rewrite", "--check"]).run();
        run.assert_code(0);
        assert_eq!(run.stdout, "", "{fixture}");
    }
}

#[test]
fn a_rewrite_that_changed_is_an_error_until_it_is_accepted() {
    let workspace = Workspace::copy_of("members");
    let before = workspace.tree();
    workspace.write(
        "ledger/src/lib.rs",
        "use std::sync::{Condvar, Mutex};\npub static LEDGER: Mutex<u8> = Mutex::new(0);\n",
    );
    workspace.write("ledger/src/new.rs", "use std::thread;\n");
    workspace.write("service/src/lib.rs", "//! Nothing.\n");
    let changed = workspace.tree();

    let check = workspace.chess(&["rewrite", "--check"]).run();
    check.assert_code(6);
    insta::assert_snapshot!(check.stdout);
    assert!(check.stderr.contains("cargo chess rewrite --accept"));
    assert!(workspace.tree() == changed, "--check wrote something");

    let pending = workspace.chess(&["rewrite", "--pending"]).run();
    pending.assert_code(6);
    assert_eq!(pending.stdout, check.stdout);
    let snapshots = workspace.root().join("chess-snapshots");
    let proposed = snapshots.join("ledger__src__lib.rs.snap.new");
    assert!(proposed.exists());

    workspace
        .chess(&["rewrite", "--accept"])
        .run()
        .assert_code(0);
    assert!(!proposed.exists(), "what was proposed is decided");
    assert!(!snapshots.join("service__src__lib.rs.snap").exists());
    let check = workspace.chess(&["rewrite", "--check"]).run();
    check.assert_code(0);
    assert!(before != workspace.tree());
}

#[test]
fn one_package_or_file_can_be_shown() {
    let workspace = Workspace::copy_of("members");
    let all = workspace.chess(&["rewrite"]).run();
    all.assert_code(0);
    let one = workspace
        .chess(&["rewrite", "--show", "ledger:src/lib.rs"])
        .run();
    one.assert_code(0);
    assert!(
        one.stdout.starts_with("ledger src/lib.rs\n"),
        "{}",
        one.stdout
    );
    assert!(all.stdout.contains(&one.stdout));
    assert!(!one.stdout.contains("service"));
    let package = workspace.chess(&["rewrite", "--show", "service"]).run();
    assert!(all.stdout.contains(&package.stdout));
    let none = workspace.chess(&["rewrite", "--show", "serv"]).run();
    none.assert_code(1);
    assert!(none.stderr.contains("no code of `serv`"), "{}", none.stderr);
}

#[test]
fn a_workspace_without_snapshots_differs_and_a_file_that_is_no_rust_is_named() {
    let workspace = Workspace::with_library("use std::sync::Mutex;\n");
    workspace.write("src/broken.rs", "fn f( {\n");
    let check = workspace.chess(&["rewrite", "--check"]).run();
    check.assert_code(6);
    assert!(
        check.stdout.contains("+    1 use std::sync::Mutex"),
        "{}",
        check.stdout
    );
    assert!(
        check.stderr.contains("src/broken.rs cannot be parsed"),
        "{}",
        check.stderr
    );
}
