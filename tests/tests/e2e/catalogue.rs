//! The catalogue: this page of the book equals the page that is made from the fixtures.

use std::fs;
use std::path::Path;

use end_to_end::catalogue::{
    Bugs, Explained, FalseAlarms, Found, Passed, page, page_path, tests_by_crate,
};
use end_to_end::source_of;
use regex::Regex;

#[test]
fn the_page_of_the_book_is_made_from_the_fixtures() {
    let written = fs::read_to_string(page_path()).unwrap_or_default();
    assert!(
        written == page(),
        "the page is stale: run `cargo bugs --catalogue`"
    );
}

#[test]
fn every_found_entry_is_in_the_index_and_names_lines() {
    let Bugs { found, .. } = Bugs::read();
    let entries = fs::read_dir(source_of("bugs/found")).expect("a directory");
    for entry in entries.flatten().filter(|it| it.path().is_dir()) {
        let name = format!("found/{}", entry.file_name().to_string_lossy());
        assert!(found.iter().any(|it| it.entry == name), "{name}");
    }
    for defect in &found {
        let source = source_of("bugs").join(&defect.entry).join("tests/bug.rs");
        let source = fs::read_to_string(source).expect("a test");
        // A macro may define the test.
        assert!(source.contains(&defect.test), "{}", defect.test);
        assert!(!defect.at.is_empty(), "{}", defect.test);
        assert!(
            defect.at.iter().all(|it| it.contains(".rs:")),
            "{}",
            defect.test
        );
        let note = source_of("bugs").join(&defect.entry).join("NOTE.md");
        let note = fs::read_to_string(note).expect("a note");
        assert!(note.starts_with("# "), "{}", defect.entry);
        if let Some(report) = &defect.report {
            assert!(report.starts_with("https://github.com/"), "{report}");
        }
        if let Some(original) = defect.original(&found) {
            let same = (&defect.report, &defect.only) == (&original.report, &original.only);
            assert!(same, "{} is that of {}", defect.test, original.test);
        }
        if let Some(check) = &defect.only {
            assert!(Found::CHECKS.contains(&&**check), "{check}");
        }
    }
}

/// Returns the tests in fixtures/clients in order: for each one, the name of its file and its own
/// name without modules.
fn client_tests() -> Vec<(String, String)> {
    // A macro defines some of the tests.
    let test = r"(?m)#\[test\]\s+(?:#\[[^\]]*\]\s+)*fn (\w+)|^\w+!\(\s*(\w+),";
    let test = Regex::new(test).expect("a pattern");
    let mut tests = Vec::new();
    for entry in fs::read_dir(source_of("clients/tests")).expect("a directory") {
        let path = entry.expect("an entry").path();
        let file = path.file_stem().expect("a name").to_string_lossy();
        let source = fs::read_to_string(&path).expect("a text");
        for found in test.captures_iter(&source) {
            let name = found.get(1).or(found.get(2)).expect("one of the two");
            tests.push((file.clone().into_owned(), name.as_str().to_owned()));
        }
    }
    tests.sort();
    tests
}

#[test]
fn each_structure_either_passes_or_has_an_explanation() {
    let (explained, passed) = (Explained::read(), Passed::read());
    let failed = explained.failure.iter().flat_map(|it| &it.tests);
    let judged = passed.0.keys().chain(failed.clone());
    let mut names: Vec<_> = judged
        .map(|test| {
            let (file, path) = test.split_once("::").expect("a file and a path");
            let name = path.rsplit("::").next().expect("a name");
            (file.to_owned(), name.to_owned())
        })
        .collect();
    names.sort();
    // A test that is in both lists would be there twice.
    assert_eq!(names, client_tests());
    let crates = tests_by_crate(passed.0.keys().chain(failed));
    assert!(crates.len() >= 100, "{}", crates.len());
}

#[test]
fn each_false_alarm_that_was_corrected_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for alarm in FalseAlarms::read().alarm {
        let (file, test) = alarm.test;
        let source = fs::read_to_string(root.join(&file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&test), "{file} has no test {test}");
    }
}
