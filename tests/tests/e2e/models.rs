//! Models, invariants and liveness properties of tests, with the crate chess-spec.

use end_to_end::Workspace;

use super::requests::verdicts;

/// The binaries of the fixture, each with the number of its tests that fail and have a schedule.
const BINARIES: [(&str, usize); 3] = [("models", 6), ("invariants", 14), ("liveness", 4)];

/// The exact number of executions of each test without a bound: the number of orders of its
/// operations that do not commute.
const COUNTS: [(&str, u64); 23] = [
    // Two accesses to a register. Then two threads with two scheduling points each.
    ("register_fixed", 2),
    ("points_fixed", 6),
    // The signal that ends a wait for any of two. Then both signals of a wait for all.
    ("any_fixed", 2),
    ("both_signals_fixed", 1),
    // The signal comes before the look, after the start of the wait, or between them.
    ("lost_signal_fixed", 3),
    // The interleavings of 1 + 1, 2 + 2, 3 + 3 and 1 + 1 + 1 stores, and of 1 + 1 stores twice.
    ("two_orders_fixed", 2),
    ("six_orders_fixed", 6),
    ("twenty_orders_fixed", 20),
    ("six_orders_of_three_fixed", 6),
    ("two_invariants_fixed", 4),
    // The condition reads one object. The operations on the other objects commute.
    ("unrelated_fixed", 1),
    // The condition reads the second object in one of the states.
    ("begins_to_read_fixed", 2),
    ("stops_reading_fixed", 2),
    // The end of the invariant, and two stores.
    ("ends_fixed", 3),
    // Two threads that each hold both locks.
    ("transfer_fixed", 2),
    ("condition_panics_fixed", 2),
    ("lock_later_fixed", 3),
    // A lock that is released during a wait.
    ("wait_fixed", 2),
    // Two tasks try to set a flag: one fails before the other one clears it, or both succeed.
    ("owners_fixed", 4),
    ("early_look_fixed", 2),
    ("order_fixed", 2),
    // The load comes before the store or after it. Then one iteration of the waiting loop.
    ("livelock_fixed", 3),
    // The two orders of the counts of the tasks.
    ("all_fixed", 2),
];

/// The exact number of executions of each test with up to two preemptions: the number of
/// interleavings in which at most three switches separate the tasks' steps.
const WITH_TWO_PREEMPTIONS: [(&str, u64); 3] = [
    ("two_orders_fixed", 2),
    ("six_orders_fixed", 6),
    ("twenty_orders_fixed", 14),
];

#[test]
fn each_model_and_property_finds_a_bug_and_the_corrected_test_passes_completely() {
    let workspace = Workspace::shared("requests");
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        for more in [&[][..], &["--backend", "threads"], &["--isolate", "fork"]] {
            // If each execution has its own process, `dpor` does not see that a loop only waits.
            if strategy == "dpor" && more == ["--isolate", "fork"] {
                continue;
            }
            let is_exhaustive = ["icb", "dpor"].contains(&strategy);
            let limit = if is_exhaustive { "20000" } else { "300" };
            let args = ["--strategy", strategy, "--schedules", limit];
            // With spurious wake-ups, `dpor` would never finish.
            let args = [
                &args[..],
                &["--spurious", "never", "--max-steps", "2000"],
                more,
            ]
            .concat();
            for (binary, _) in BINARIES {
                for (test, verdict) in verdicts(&workspace, binary, &args) {
                    let fails = test.ends_with("_buggy");
                    let outcome = ["passed", "failed"][usize::from(fails)];
                    assert_eq!(verdict["outcome"], outcome, "{args:?}: {verdict}");
                    if !fails && is_exhaustive {
                        let is_done =
                            verdict["complete"] == true || verdict["bound_completed"] == 2;
                        assert!(is_done, "{args:?}: {verdict}");
                    }
                    let count = COUNTS.iter().find(|(name, _)| *name == test);
                    if let Some((_, count)) = count.filter(|_| strategy == "dpor") {
                        assert_eq!(verdict["schedules"], *count, "{args:?}: {verdict}");
                        assert_eq!(verdict["complete"], true, "{args:?}: {verdict}");
                    }
                    let mut known = WITH_TWO_PREEMPTIONS.iter();
                    let count = known.find(|(name, _)| *name == test);
                    if let Some((_, count)) = count.filter(|_| strategy == "icb") {
                        assert_eq!(verdict["schedules"], *count, "{args:?}: {verdict}");
                    }
                }
            }
        }
    }
}

#[test]
fn weak_memory_does_not_disturb_models_and_invariants() {
    let workspace = Workspace::shared("requests");
    for model in ["tso", "c11"] {
        for (binary, _) in BINARIES {
            let args = [
                "--memory",
                model,
                "--schedules",
                "500",
                "--max-steps",
                "2000",
            ];
            for (test, verdict) in verdicts(&workspace, binary, &args) {
                let outcome = ["passed", "failed"][usize::from(test.ends_with("_buggy"))];
                assert_eq!(verdict["outcome"], outcome, "{model}: {verdict}");
            }
        }
    }
}

#[test]
fn failures_of_models_and_properties_replay() {
    let workspace = Workspace::copy_of("requests");
    for (binary, count) in BINARIES {
        let failures = verdicts(&workspace, binary, &["buggy", "--max-steps", "2000"]);
        assert_eq!(failures.len(), count, "{binary}");
        for verdict in failures.values() {
            let schedule = verdict["schedule"].as_str().expect("a schedule");
            for _ in 0..3 {
                let run = workspace.chess(&["replay", schedule]).run();
                run.assert_code(100);
                assert!(run.stderr.contains("Reproduced"), "{run:?}");
            }
        }
    }
}

/// Returns the report on a test of the fixture, without the lines that differ in each run.
fn report(workspace: &Workspace, test: &str) -> String {
    let args = ["test", "--max-steps", "2000", test];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let printed = workspace.redact(&run.stderr);
    let (_, report) = printed.split_once("\n\n").expect("a report");
    let (report, _) = report.split_once("Saved").expect("a schedule");
    report.to_owned()
}

#[test]
fn reports_name_the_property_and_the_line() {
    let workspace = Workspace::copy_of("requests");
    for test in [
        "second_order_buggy",
        "condition_panics_buggy",
        "early_look_buggy",
        "deadlock_buggy",
        "livelock_buggy",
        "lost_signal_buggy",
    ] {
        insta::assert_snapshot!(test, report(&workspace, test));
    }
}
