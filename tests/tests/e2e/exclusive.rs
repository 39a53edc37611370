//! Two tasks in methods of one object that must not overlap: `[[exclusive]]` in Chess.toml.

use std::collections::BTreeMap;

use end_to_end::{Run, Workspace};
use serde_json::Value;

/// The exact number of executions of each test without a bound.
const COUNTS: [(&str, u64); 13] = [
    // The orders of the calls, which a lock separates. The checks add no orders.
    ("push_fixed", 2),
    ("three_fixed", 6),
    ("unwound_fixed", 2),
    ("dependency_fixed", 2),
    ("unique_fixed", 2),
    // The load of the ring's end comes before or after the store. Calls of two objects are not
    // ordered.
    ("ends_fixed", 2),
    ("two_objects_fixed", 1),
    // Two calls that may overlap commute.
    ("readers_fixed", 1),
    // The load of the flag comes before or after the store.
    ("flag_fixed", 2),
    // The calls of these objects are not checked. There are the orders of two additions.
    ("other_type_fixed", 2),
    ("unit_fixed", 2),
    // These tests have only one order.
    ("nested_fixed", 1),
    ("moved_fixed", 1),
];

fn verdicts(workspace: &Workspace, args: &[&str]) -> BTreeMap<String, Value> {
    let json = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&json[..], args].concat()).run();
    run.assert_code(100);
    run.verdicts_by_name()
}

/// Checks that the verdict on `test` is the one that the ending of its name states.
#[track_caller]
fn assert_named(test: &str, verdict: &Value) {
    let kind = match test.rsplit_once('_') {
        Some((_, "buggy")) => Value::from("thread-safety"),
        Some((_, "racy")) => Value::from("race"),
        _ => Value::Null,
    };
    assert_eq!(verdict["kind"], kind, "{verdict}");
    let outcome = ["failed", "passed"][usize::from(kind.is_null())];
    assert_eq!(verdict["outcome"], outcome, "{verdict}");
}

#[test]
fn overlapping_calls_are_found_and_calls_that_never_overlap_pass_completely() {
    let workspace = Workspace::shared("exclusive");
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        for more in [&[][..], &["--backend", "threads"], &["--isolate", "fork"]] {
            let is_exhaustive = ["icb", "dpor"].contains(&strategy);
            let limit = if is_exhaustive { "20000" } else { "300" };
            let args = ["--strategy", strategy, "--schedules", limit];
            let args = [&args[..], &["--max-steps", "2000"], more].concat();
            for (test, verdict) in verdicts(&workspace, &args) {
                // If each execution has its own process, the tool cannot detect that a loop only
                // waits.
                if test.starts_with("waiting_") && more == ["--isolate", "fork"] {
                    continue;
                }
                assert_named(&test, &verdict);
                if test.ends_with("_fixed") && is_exhaustive {
                    let is_done = verdict["complete"] == true || verdict["bound_completed"] == 2;
                    assert!(is_done, "{args:?}: {verdict}");
                }
                let count = COUNTS.iter().find(|(name, _)| *name == test);
                if let Some((_, count)) = count.filter(|_| strategy == "dpor") {
                    assert_eq!(verdict["schedules"], *count, "{args:?}: {verdict}");
                    assert_eq!(verdict["complete"], true, "{args:?}: {verdict}");
                }
                // The failure needs one preemption, within a call.
                if test.ends_with("_buggy") && strategy == "icb" {
                    assert_eq!(verdict["preemptions"], 1, "{args:?}: {verdict}");
                }
            }
        }
    }
}

#[test]
fn weak_memory_makes_no_difference_to_the_calls() {
    let workspace = Workspace::shared("exclusive");
    for model in ["tso", "c11"] {
        let args = [
            "--memory",
            model,
            "--schedules",
            "500",
            "--max-steps",
            "2000",
        ];
        for (test, verdict) in verdicts(&workspace, &args) {
            assert_named(&test, &verdict);
        }
    }
}

#[test]
fn a_failure_replays_and_shows_both_stacks() {
    let workspace = Workspace::copy_of("exclusive");
    for test in [
        "push_buggy",
        "dependency_nested_buggy",
        "dependency_inside_buggy",
    ] {
        let run = workspace
            .chess(&["test", "--strategy", "icb", "--", "--exact", test])
            .run();
        run.assert_code(100);
        insta::with_settings!({
            filters => vec![
                (r"\b\d+\.\d+s\b", "[TIME]"),
                (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
                (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
            ],
        }, { insta::assert_snapshot!(test, workspace.redact(&run.message())) });
        let command = run.stderr.split("cargo chess replay ").nth(1);
        let schedule = command.and_then(|it| it.split_whitespace().next());
        let schedule = schedule.expect("the report names the schedule").to_owned();
        for _ in 0..3 {
            let replayed = workspace.chess(&["replay", &schedule]).run();
            replayed.assert_code(100);
            assert!(replayed.stderr.contains("Reproduced"), "{replayed:?}");
        }
    }
}

#[test]
fn without_the_table_the_calls_are_not_checked() {
    let workspace = Workspace::copy_of("exclusive");
    workspace.write("Chess.toml", "");
    for (test, verdict) in verdicts(&workspace, &["--strategy", "icb"]) {
        // Two unique references at once are a data race, also without a table.
        let outcome = ["passed", "failed"][usize::from(test.ends_with("_racy"))];
        assert_eq!(verdict["outcome"], outcome, "{verdict}");
    }
}

#[test]
fn the_rewritten_code_shows_the_checks() {
    let workspace = Workspace::shared("exclusive");
    let run = workspace
        .chess(&["rewrite", "--show", "exclusive:src/ring.rs"])
        .run();
    run.assert_code(0);
    insta::assert_snapshot!(run.stdout);
}

fn with_table(table: &str) -> Run {
    let workspace = Workspace::copy_of("exclusive");
    workspace.write("Chess.toml", &format!("[[exclusive]]\n{table}\n"));
    workspace.chess(&["rewrite"]).run()
}

#[test]
fn a_table_that_names_nothing_is_an_error_with_its_line() {
    let cases = [
        ("a package", "type = \"exclusiv::Producer\""),
        ("a type", "type = \"exclusive::Produzer\""),
        ("a module", "type = \"exclusive::rings::Producer\""),
        ("one of several types", "type = \"exclusive::Consumer\""),
        (
            "a method",
            "type = \"exclusive::Producer\"\nmethods = [\"push\", \"psh_two\"]",
        ),
        (
            "a reader",
            "type = \"exclusive::Producer\"\nreaders = [\"length\"]",
        ),
        (
            "only readers",
            "type = \"exclusive::Marker\"\nreaders = [\"mark\"]",
        ),
        ("a type without methods", "type = \"exclusive::ring::Ring\""),
        ("no package", "type = \"Producer\""),
        (
            "both",
            "type = \"exclusive::Producer\"\nmethods = [\"len\"]\nreaders = [\"len\"]",
        ),
        ("no type", "methods = [\"push\"]"),
        (
            "opaque",
            "type = \"spsc::Sender\"\n[crates.spsc]\npolicy = \"opaque\"",
        ),
    ];
    let messages = cases.map(|(what, table)| {
        let run = with_table(table);
        run.assert_code(1);
        let message = run.message();
        let path = message.find(" --> ").zip(message.find("Chess.toml"));
        let message = match path {
            Some((from, to)) => format!("{} --> [ROOT]/{}", &message[..from], &message[to..]),
            None => message,
        };
        format!("{what}:\n{message}")
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_method_that_cannot_be_checked_is_an_error_with_the_reason() {
    let source = "\
        pub struct Ring(u8);
        impl Ring {
            pub fn new() -> Self { Ring(0) }
            pub fn close(self) {}
            pub const fn capacity(&self) -> usize { 8 }
            pub async fn send(&self) {}
            pub fn push(&self) {}
        }
    ";
    let messages = ["new", "close", "capacity", "send"].map(|method| {
        let workspace = Workspace::with_library(source);
        let table = format!("type = \"small::Ring\"\nmethods = [\"push\", \"{method}\"]");
        workspace.write("Chess.toml", &format!("[[exclusive]]\n{table}\n"));
        let run = workspace.chess(&["rewrite"]).run();
        run.assert_code(1);
        workspace.redact(&run.message())
    });
    insta::assert_snapshot!(messages.join("\n"));
}
