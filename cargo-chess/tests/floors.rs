//! The floors of the tool: a file uses only definitions of its own floor or of floors below.
//!
//! The tests read imports and paths from the text of the sources, with the reader of the runtime's
//! tests (`imports.rs`). Code for tests is left out.

#[path = "../../runtime/tests/floors/imports.rs"]
mod imports;

use std::path::Path;

use imports::{Sources, texts};

/// The floors, the lowest one first. Each has folders and files of `src`.
const FLOORS: &[&[&str]] = &[
    &[
        "atomic_file",
        "digest",
        "error",
        "interrupt",
        "suggest",
        "text",
    ],
    &[
        "config",
        "current_exe",
        "linker",
        "panic_hook",
        "shard",
        "shell",
        "stdout",
        "toolchain",
    ],
    &["cli", "events"],
    &["plan", "protocol", "schedule"],
    &["analysis", "journal", "wrapper"],
    &["build", "report"],
    &["regressions", "session"],
    &["supervise"],
    &["commands", "fuzz"],
    &["lib", "main"],
];

/// The largest permitted cycle of imports, in files. A type and its helpers may use each other.
const LARGEST_CYCLE: usize = 3;

fn tool() -> Sources {
    Sources::of(&texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")))
}

/// Returns the floor of a file: that of its folder, or that of its own name if it is in no folder.
fn floor(path: &str) -> Option<usize> {
    let end = path.find(['/', '.']).unwrap_or(path.len());
    FLOORS.iter().position(|it| it.contains(&&path[..end]))
}

/// Uses of a higher floor, a line for each.
fn upward(sources: &Sources) -> Vec<String> {
    let pairs = sources.upward(floor).into_iter();
    pairs
        .map(|(file, other)| format!("{file} uses {other}"))
        .collect()
}

#[test]
fn no_file_uses_a_higher_floor() {
    let sources = tool();
    assert!(sources.count() > 150, "only {} files", sources.count());
    assert_eq!(
        upward(&sources),
        [""; 0],
        "a file may use its own floor and those below it: move the definition down"
    );
}

#[test]
fn cycles_of_imports_are_small() {
    assert_eq!(
        tool().cycles(LARGEST_CYCLE).concat(),
        [""; 0],
        "files in cycles of more than {LARGEST_CYCLE}"
    );
}

#[test]
fn every_file_is_on_a_floor() {
    let sources = tool();
    let files = sources.imports();
    let without = files.keys().filter(|it| floor(it).is_none());
    assert_eq!(without.collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn an_import_against_the_floors_is_found() {
    let sources = Sources::tree(&[
        ("text/paths.rs", "use crate::report::Reporter;"),
        ("report/mod.rs", "use crate::text::paths::source_path;"),
    ]);
    assert_eq!(upward(&sources), ["text/paths.rs uses report/mod.rs"]);
}

#[test]
fn a_cycle_of_four_files_is_found() {
    let next = |name: &str| format!("fn f() {{ super::{name}::f() }}");
    let texts = ["b", "c", "d", "a"].map(next);
    let names = ["text/a.rs", "text/b.rs", "text/c.rs", "text/d.rs"];
    let files: Vec<_> = names
        .into_iter()
        .zip(texts.iter().map(String::as_str))
        .collect();
    assert_eq!(Sources::tree(&files).cycles(LARGEST_CYCLE), [names]);
}
