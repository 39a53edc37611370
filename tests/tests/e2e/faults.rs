//! Faults: calls of the standard library that fail by the search's choice.

use std::collections::BTreeMap;

use end_to_end::Workspace;
use serde_json::Value;

/// Each kind of faults, with the prefix of the names of its tests.
const KINDS: [(&str, &str); 11] = [
    ("no-space", "no_space"),
    ("sync", "sync"),
    ("rename", "rename"),
    ("short", "short"),
    ("interrupted", "interrupted"),
    ("refused", "refused"),
    ("timed-out", "timed_out"),
    ("reset", "reset"),
    ("spawn", "spawn"),
    ("process", "process"),
    ("allocation", "allocation"),
];

/// Returns the verdicts on the tests of the fixture whose names contain `filter`, by their names.
fn verdicts(
    workspace: &Workspace,
    code: i32,
    filter: &str,
    args: &[&str],
) -> BTreeMap<String, Value> {
    let json = ["--no-fail-fast", "--message-format", "json"];
    let all = [&["test", filter], &json[..], args].concat();
    let run = workspace.chess(&all).run();
    run.assert_code(code);
    run.verdicts_by_name()
}

#[test]
fn each_kind_finds_a_bug_and_the_corrected_code_passes_completely() {
    let workspace = Workspace::shared("faults");
    for (strategy, more) in [
        ("icb", &[][..]),
        ("icb", &["--backend", "threads"]),
        ("dpor", &[]),
        ("dpor", &["--isolate", "fork"]),
        ("pct,pos,surw,random", &[]),
    ] {
        for (kind, prefix) in KINDS {
            let args = [
                "--strategy",
                strategy,
                "--faults",
                kind,
                "--schedules",
                "2000",
            ];
            let args = [
                &args[..],
                &["--spurious", "never", "--timers", "last"],
                more,
            ]
            .concat();
            let verdicts = verdicts(&workspace, 100, prefix, &args);
            assert!(verdicts.len() >= 2, "{kind}");
            for (test, verdict) in verdicts {
                let outcome = ["passed", "failed"][usize::from(test.ends_with("_buggy"))];
                assert_eq!(verdict["outcome"], outcome, "{args:?}: {verdict}");
                if outcome == "passed" && !strategy.contains("random") {
                    let is_done = verdict["complete"] == true || verdict["bound_completed"] == 2;
                    assert!(is_done, "{args:?}: {verdict}");
                }
            }
        }
    }
}

#[test]
fn without_faults_no_call_fails_and_test_code_is_spared() {
    let workspace = Workspace::shared("faults");
    for (test, verdict) in verdicts(&workspace, 0, "", &["--schedules", "100"]) {
        assert_eq!(verdict["outcome"], "passed", "{test}");
    }
    let all = verdicts(&workspace, 0, "calls_of_test_code", &["--faults", "all"]);
    let verdict = &all["files::tests::calls_of_test_code_do_not_fail"];
    assert_eq!(verdict["nothing_to_explore"], true, "{verdict}");
}

#[test]
fn each_of_three_calls_fails_or_succeeds() {
    let workspace = Workspace::shared("faults");
    for (strategy, preemptions, count) in [
        // The number of ways in which at most `preemptions` of the three calls fail. `dpor` has no
        // bound.
        ("icb", "1", 1 + 3),
        ("icb", "2", 1 + 3 + 3),
        ("icb", "3", 8),
        ("dpor", "0", 8),
    ] {
        let args = ["--strategy", strategy, "--preemptions", preemptions];
        let all = verdicts(
            &workspace,
            0,
            "eight_executions",
            &[&args[..], &["--faults", "rename"]].concat(),
        );
        assert_eq!(all["eight_executions"]["schedules"], count, "{args:?}");
    }
}

#[test]
fn each_way_in_which_a_call_fails_is_an_execution() {
    let workspace = Workspace::shared("faults");
    for (strategy, preemptions, count) in [("icb", "0", 1), ("icb", "1", 3), ("dpor", "0", 3)] {
        let args = ["--strategy", strategy, "--preemptions", preemptions];
        let args = [&args[..], &["--faults", "short,interrupted"]].concat();
        let all = verdicts(&workspace, 0, "three_executions", &args);
        assert_eq!(all["three_executions"]["schedules"], count, "{args:?}");
    }
}

#[test]
fn failures_replay_and_the_report_and_the_explanation_name_the_fault() {
    let workspace = Workspace::copy_of("faults");
    let args = ["test", "short_buggy", "--faults", "short"];
    let run = workspace.chess(&args).run();
    run.assert_says(
        100,
        &["^ only half of the bytes are transferred (counts as a preemption)"],
    );
    let all = verdicts(&workspace, 100, "short_buggy", &["--faults", "short"]);
    let schedule = all["short_buggy"]["schedule"].as_str().expect("a schedule");
    for _ in 0..20 {
        let run = workspace.chess(&["replay", schedule]).run();
        run.assert_says(100, &["Reproduced"]);
    }
    let run = workspace.chess(&["explain", schedule]).run();
    run.assert_says(
        0,
        &[
            "A call of task 1",
            "fails: only half of the bytes are transferred.",
        ],
    );
    let run = workspace.chess(&["test", "--faults", "disk-full"]).run();
    run.assert_says(1, &["no-space", "disk-full"]);
}

#[test]
fn chess_toml_sets_the_kinds_for_some_tests_and_the_command_line_has_precedence() {
    let workspace = Workspace::copy_of("faults");
    let config = "[[test]]\nfilter = \"rename\"\nexplore = { faults = [\"rename\"] }\n";
    workspace.write("Chess.toml", config);
    let all = verdicts(&workspace, 100, "", &["--schedules", "100"]);
    for (test, verdict) in &all {
        let fails = test == "rename_buggy";
        assert_eq!(verdict["outcome"] == "failed", fails, "{verdict}");
    }
    assert_eq!(all["rename_buggy"]["options"]["faults"][0], "rename");
    verdicts(&workspace, 0, "rename", &["--faults", "none"]);
}

/// For an action with a probability, the crate `fail` draws a random number. Under the tool, the
/// search chooses instead.
#[test]
fn an_action_of_a_fail_point_with_a_probability_is_a_choice() {
    let workspace = Workspace::shared("failpoints");
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        let args = ["--strategy", strategy, "--schedules", "2000"];
        for (test, verdict) in verdicts(&workspace, 100, "", &args) {
            let outcome = ["passed", "failed"][usize::from(test.ends_with("_buggy"))];
            assert_eq!(verdict["outcome"], outcome, "{args:?}: {verdict}");
        }
    }
    let all = verdicts(&workspace, 100, "two_failures", &["--strategy", "icb"]);
    let verdict = &all["two_failures_buggy"];
    assert_eq!(verdict["preemptions"], 2, "{verdict}");
}
