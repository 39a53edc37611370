//! Programs behave the same with marks as without.
//!
//! Each program is compiled in its original form, and with marks that count their executions. This
//! is repeated for each edition of the program. The output and the exit status of both forms are
//! compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use rewriter::{Request, Rewrite, rewrite};

/// The definition of a mark that counts its executions, with the counter.
const COUNTING: &str = "\
static MARKS: ::std::sync::atomic::AtomicUsize = ::std::sync::atomic::AtomicUsize::new(0); \
macro_rules! __chess_mark { () => { \
{ let before = crate::MARKS.fetch_add(1, ::std::sync::atomic::Ordering::SeqCst); assert!(before < 1_000_000) } \
}; }";

struct Run {
    succeeded: bool,
    output: String,
}

fn compile_and_run(text: &str, edition: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("program.rs");
    let program = directory.path().join("program");
    fs::write(&source, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args([
            "--edition",
            edition,
            "--cap-lints=allow",
            "-Cdebuginfo=0",
            "-o",
        ])
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "edition {edition}: {}\n{text}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = Command::new(program).output().unwrap();
    Run {
        succeeded: run.status.success(),
        output: String::from_utf8(run.stdout).unwrap(),
    }
}

fn program(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    fs::read_to_string(path.join(name)).unwrap()
}

fn marked(text: &str) -> Rewrite {
    let request = Request {
        marks: true,
        ..Request::default()
    };
    rewrite(text, &request).unwrap()
}

/// Returns the marked text, with the definition of the mark in the first empty line. Each program
/// has an empty second line for it.
fn apply(rewritten: &Rewrite, text: &str) -> String {
    rewritten
        .apply(text)
        .replacen("\n\n", &format!("\n{COUNTING}\n"), 1)
}

#[track_caller]
fn behaves_the_same(name: &str, editions: &[&str]) {
    let text = program(name);
    let rewritten = marked(&text);
    assert!(rewritten.marks > 10, "{rewritten:?}");
    for edition in editions {
        let plain = compile_and_run(&text, edition);
        let marked = compile_and_run(&apply(&rewritten, &text), edition);
        assert!(plain.succeeded);
        assert_eq!(marked.succeeded, plain.succeeded);
        assert_eq!(marked.output, plain.output, "edition {edition}");
    }
}

#[test]
fn values_are_dropped_when_they_were() {
    behaves_the_same("temporaries.rs", &["2021", "2024"]);
}

#[test]
fn control_flows_as_it_did() {
    behaves_the_same("control.rs", &["2021", "2024"]);
}

#[test]
fn futures_stay_sendable_and_finish() {
    behaves_the_same("futures.rs", &["2024"]);
}

#[test]
fn words_that_became_keywords_may_still_be_names() {
    behaves_the_same("names.rs", &["2015"]);
}

#[test]
fn lines_stay_and_columns_can_be_computed() {
    let text = program("places.rs");
    let rewritten = marked(&text);
    let plain = compile_and_run(&text, "2021");
    let marked = compile_and_run(&apply(&rewritten, &text), "2021");
    let back: Vec<_> = marked
        .output
        .lines()
        .map(|place| {
            let (line, column) = place.split_once(' ').unwrap();
            let (line, column) = (line.parse().unwrap(), column.parse().unwrap());
            let original = rewritten.original_column(&text, line, column);
            format!("{line} {original}")
        })
        .collect();
    assert_ne!(marked.output, plain.output, "no column moved");
    assert_eq!(back, plain.output.lines().collect::<Vec<_>>());
}
