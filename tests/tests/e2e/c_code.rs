//! C code that the user compiles with `-fsanitize=thread` is explored as Rust code is.

use std::collections::BTreeMap;

use end_to_end::Workspace;
use serde_json::Value;

const INSTRUMENTED: &str = "-fsanitize=thread";

/// Explores the tests of a copy of the fixture, whose C code is compiled with `flags`.
fn verdicts(workspace: &Workspace, flags: &str, args: &[&str]) -> BTreeMap<String, Value> {
    let test = [
        "test",
        "--no-fail-fast",
        "--work=2M",
        "--message-format=json",
    ];
    let chess = workspace.chess(&[&test[..], args].concat());
    let run = chess.env("CFLAGS", flags).run();
    run.assert_code(100);
    run.verdicts_by_name()
}

/// The tests that fail, with the kinds of their failures.
fn failures(verdicts: &BTreeMap<String, Value>) -> Vec<(&str, &str)> {
    let failed = verdicts
        .iter()
        .filter(|(_, verdict)| verdict["outcome"] == "failed");
    failed
        .map(|(name, verdict)| (&**name, verdict["kind"].as_str().unwrap_or_default()))
        .collect()
}

#[test]
fn its_bugs_are_found_and_the_twins_pass() {
    let optimised = format!("{INSTRUMENTED} -O2");
    let workspace = Workspace::copy_of("c_code");
    for (flags, args) in [
        (INSTRUMENTED, &[][..]),
        (INSTRUMENTED, &["--backend", "threads"]),
        (&optimised, &["--strategy", "dpor"]),
    ] {
        let verdicts = verdicts(&workspace, flags, args);
        let expected = [
            ("counter::buggy", "panic"),
            ("message::buggy", "race"),
            ("mixed::buggy", "race"),
            ("number::buggy", "race"),
            ("own_allocator_buggy", "panic"),
        ];
        assert_eq!(failures(&verdicts), expected, "{flags} {args:?}");
        let passed = verdicts.values().filter(|it| it["outcome"] == "passed");
        assert_eq!(passed.count(), verdicts.len() - expected.len());
    }
}

#[test]
fn its_atomics_have_the_schedules_and_orders_of_the_model() {
    let workspace = Workspace::copy_of("c_code");
    let explored = verdicts(&workspace, INSTRUMENTED, &["--strategy", "dpor"]);
    for (name, schedules) in [
        // The order of two additions.
        ("counter::fixed", 2),
        // Of the six orders of two stores and two loads, three differ in the values that the loads read.
        ("flags::fixed", 3),
        // The load comes before or after the store.
        ("message::fixed", 2),
    ] {
        let verdict = &explored[name];
        assert_eq!(verdict["schedules"], schedules, "{name}");
        assert_eq!(verdict["complete"], true, "{name}");
    }
    let args = ["--memory", "c11", "flags", "message"];
    let explored = verdicts(&workspace, INSTRUMENTED, &args);
    let expected = [("flags::buggy", "panic"), ("message::buggy", "race")];
    assert_eq!(failures(&explored), expected);
}

#[test]
fn without_the_flag_it_is_one_step_and_the_summary_names_the_flag() {
    let workspace = Workspace::copy_of("c_code");
    let chess = workspace.chess(&["test", "counter::buggy", "message::fixed"]);
    let run = chess.env("CFLAGS", "").run();
    let parts = ["called into C code", "`CFLAGS=-fsanitize=thread`"];
    run.assert_says(0, &parts);
}
