//! `--no-run` builds the tests, prints the executables as cargo does, and runs nothing.

use std::path::Path;

use end_to_end::{Chess, Run, Workspace};

const PANICS: &str = "#[test] fn is_not_run() { panic!() }\n";

/// Returns the names and the paths of the built executables.
fn executables(run: &Run) -> Vec<(String, String)> {
    run.assert_code(0);
    let lines = run.stderr.lines().filter_map(|line| {
        let line = line.strip_prefix("  Executable ")?;
        let (source, path) = line.strip_suffix(')')?.split_once(" (")?;
        Some((source.to_owned(), path.to_owned()))
    });
    let mut all: Vec<_> = lines.collect();
    all.sort();
    all
}

#[test]
fn built_binaries_are_printed_as_by_cargo_and_nothing_is_run() {
    let workspace = Workspace::with_library(PANICS);
    workspace.write("src/main.rs", &format!("fn main() {{}}\n{PANICS}"));
    workspace.write("tests/t.rs", PANICS);
    let run = workspace.chess(&["test", "--no-run"]).run();
    let ours = executables(&run);
    let cargos = executables(&Chess::cargo(workspace.root(), &["test", "--no-run"]).run());
    let sources = |all: &[(String, String)]| -> Vec<String> {
        all.iter().map(|(source, _)| source.clone()).collect()
    };
    assert_eq!(sources(&ours), sources(&cargos), "{run:?}");
    assert_eq!(ours.len(), 3);
    for (_, path) in ours {
        assert!(Path::new(&path).is_relative(), "{path}");
        assert!(workspace.root().join(path).is_file());
    }
    assert!(!run.stderr.contains("Exploring"), "{run:?}");
}
