//! Tests of the counts, the saved rows and the explanations.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use end_to_end::Workspace;
use end_to_end::published::{Explored, Native};
use serde_json::json;

use crate::explained::Explanations;
use crate::row::{Row, Rows};
use crate::table;

/// Returns a suite whose tests have these outcomes, each with whether there was nothing to explore.
/// A test with an empty outcome has no verdict. All tests except the last one pass under
/// `cargo test`.
fn suite(outcomes: &[(&str, bool)]) -> Row {
    let test = |number: usize| ("small".to_owned(), format!("test_{number}"));
    let verdict = |number: usize, outcome: &str, nothing: bool| {
        let kind = (outcome == "failed").then_some("panic");
        json!({
            "outcome": outcome, "nothing_to_explore": nothing, "kind": kind,
            "message": "left is\n not right", "schedules": 7, "test": number,
        })
    };
    let last = outcomes.len() - 1;
    let native = Native {
        tests: (0..=last)
            .map(|number| (test(number), number != last))
            .collect(),
        build: Duration::ZERO,
        run: Duration::from_millis(100),
    };
    let all = outcomes.iter().enumerate();
    let explored = Explored {
        verdicts: all
            .filter(|(_, (outcome, _))| !outcome.is_empty())
            .map(|(number, (outcome, nothing))| (test(number), verdict(number, outcome, *nothing)))
            .collect::<BTreeMap<_, _>>(),
        build: Duration::from_secs(2),
        run: Duration::from_secs(3),
        broken: None,
    };
    let mut row = Row {
        name: "small".to_owned(),
        version: "1.0.0".to_owned(),
        ..Row::default()
    };
    row.fill(&native, &explored);
    row
}

#[test]
fn each_test_that_passes_natively_is_in_one_column() {
    let row = suite(&[
        ("passed", false),
        ("passed", true),
        ("timing", false),
        ("failed", false),
        ("timeout", false),
        ("", false),
        ("failed", false),
    ]);
    assert_eq!((row.tests, row.natively), (7, 6));
    let counts = [row.passed, row.one_thread, row.timing, row.failures.len()];
    assert_eq!(counts, [1; 4]);
    assert_eq!(row.unknown.len(), 2);
}

#[test]
fn a_failure_is_an_alarm_unless_it_is_explained_as_a_defect() {
    let rows = [suite(&[("failed", false), ("passed", false)])];
    let explained = |of: &str| -> Explanations {
        let text = format!(
            "[[failure]]\nsuite = \"small\"\ntests = [\"small test_*\"]\nkind = \"panic\"\n\
             of = \"{of}\"\nwhy = \"it counts on a sleep\"\n"
        );
        toml::from_str(&text).expect("it is TOML")
    };
    let alarms = |explanations: &Explanations| table::print_failures(&rows, explanations);
    assert_eq!(
        alarms(&Explanations::default()),
        ["small: not explained: small test_0: panic, schedule 7: left is not right"]
    );
    assert!(alarms(&explained("test")).is_empty());
    assert!(alarms(&explained("crate")).is_empty());
    assert_eq!(
        alarms(&explained("tool")),
        ["small: small test_0: panic, schedule 7: left is not right (limit of the tool)"]
    );
}

#[test]
fn a_small_suite_has_five_minutes() {
    let mut row = suite(&[("passed", false), ("passed", false)]);
    row.run = Duration::from_secs(301);
    let alarms = table::print_failures(&[row.clone()], &Explanations::default());
    assert_eq!(alarms, ["small: 301 s for 2 tests"]);
    row.tests = 251;
    assert!(table::print_failures(&[row], &Explanations::default()).is_empty());
}

#[test]
fn rows_are_kept_for_one_tool_and_one_set_of_arguments() {
    let workspace = Workspace::empty();
    let file = workspace.root().join("suites.tsv");
    let row = suite(&[("failed", false), ("passed", false)]);
    Rows::of(file.clone(), "tool 1".to_owned()).keep(row.clone());
    let again = Rows::of(file.clone(), "tool 1".to_owned());
    let kept = again.get(&row).expect("it was kept");
    assert_eq!(table::row(kept), table::row(&row));
    assert!(
        Rows::of(file.clone(), "tool 2".to_owned())
            .get(&row)
            .is_none()
    );
    assert!(
        Rows::of(file.clone(), "tool".to_owned())
            .get(&row)
            .is_none()
    );

    // A newer row replaces an older one.
    let newer = suite(&[("passed", false), ("passed", false)]);
    Rows::of(file.clone(), "tool 1".to_owned()).keep(newer.clone());
    let again = Rows::of(file.clone(), "tool 1".to_owned());
    assert_eq!(again.get(&row).map(table::row), Some(table::row(&newer)));
    let lines = fs::read_to_string(file)
        .expect("it is there")
        .lines()
        .count();
    assert_eq!(lines, 2);
}

#[test]
fn explanations_are_of_suites() {
    let manifest = fs::read_to_string(end_to_end::source_of("corpus").join("Cargo.toml"));
    let manifest: toml::Table = toml::from_str(&manifest.expect("it is there")).expect("TOML");
    let suites = manifest["package"]["metadata"]["suites"].as_array();
    let suites = suites.expect("a list of suites");
    assert_eq!(suites.len(), 30);
    for explanation in Explanations::read().failure {
        let is_suite = suites
            .iter()
            .filter_map(toml::Value::as_str)
            .any(|suite| suite.split('@').next() == Some(&explanation.suite));
        assert!(is_suite, "{} is no suite", explanation.suite);
        assert!(!explanation.why.is_empty());
    }
}
