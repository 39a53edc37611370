//! Rewritten programs behave as the original, and report the expected borrows.
//!
//! Each program is compiled in its original and in its rewritten form, and the output of both is
//! compared. The borrows that the rewritten program reports are compared with a snapshot: the
//! line, hook and size of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rewriter::{Borrows, MutableStatics, Request, Rewrite, rewrite};
use tempfile::TempDir;

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn rewritten(text: &str, marks: bool) -> Rewrite {
    let mut statics = MutableStatics::default();
    statics.add(text).unwrap();
    let request = Request {
        marks,
        borrows: Some(Borrows {
            statics: &statics,
            without: &[],
        }),
        ..Request::default()
    };
    rewrite(text, &request).unwrap()
}

fn rustc(directory: &Path, args: &[&str], text: &str) -> Output {
    let source = directory.join("source.rs");
    fs::write(&source, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args(["--cap-lints=allow", "-Cdebuginfo=0"])
        .args(args)
        .arg(&source)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}\n{text}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    compiled
}

/// Returns a directory with the compiled library `hooks/lib.rs`, which replaces the module
/// `__chess`.
fn hooks() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(tests().join("hooks/lib.rs")).unwrap();
    let args = [
        "--edition=2024",
        "--crate-type=rlib",
        "--crate-name=__chess",
        "--cfg=log",
        "-olib__chess.rlib",
    ];
    rustc(directory.path(), &args, &text);
    directory
}

fn compile_and_run(directory: &Path, edition: &str, text: &str) -> Output {
    let edition = format!("--edition={edition}");
    let args = [
        &*edition,
        "--extern=__chess=lib__chess.rlib",
        "--crate-name=program",
        "-oprogram",
    ];
    rustc(directory, &args, text);
    let run = Command::new(directory.join("program")).output().unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    run
}

#[track_caller]
fn behaves_the_same(name: &str) {
    let text = fs::read_to_string(tests().join("programs").join(name).with_extension("rs"));
    let text = text.unwrap();
    let reporting = rewritten(&text, false).apply(&text);
    let hooks = hooks();
    let mut reports = Vec::new();
    for edition in ["2021", "2024"] {
        let plain = compile_and_run(hooks.path(), edition, &text);
        let rewritten = compile_and_run(hooks.path(), edition, &reporting);
        assert_eq!(
            String::from_utf8_lossy(&rewritten.stdout),
            String::from_utf8_lossy(&plain.stdout),
            "edition {edition}"
        );
        reports.push(String::from_utf8(rewritten.stderr).unwrap());
    }
    assert_eq!(reports[0], reports[1], "the editions differ");
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, reporting);
        insta::assert_snapshot!(format!("{name}_reported"), reports[0]);
    });
}

#[test]
fn borrows_of_every_form_have_the_same_effect() {
    behaves_the_same("borrows");
}

#[test]
fn temporary_values_moves_alignment_and_order_are_preserved() {
    behaves_the_same("traps");
}

#[test]
fn borrows_can_be_reported_in_marked_text() {
    let hooks = hooks();
    for name in ["borrows", "traps"] {
        let path = tests().join("programs").join(name).with_extension("rs");
        let text = fs::read_to_string(path).unwrap();
        let both = rewritten(&text, true);
        assert!(both.marks > 10);
        let marked = format!(
            "macro_rules! __chess_mark {{ () => {{}} }} {}",
            both.apply(&text).replacen("//!", "//", 1)
        );
        let plain = compile_and_run(hooks.path(), "2021", &text);
        let rewritten = compile_and_run(hooks.path(), "2021", &marked);
        assert_eq!(rewritten.stdout, plain.stdout);
    }
}
