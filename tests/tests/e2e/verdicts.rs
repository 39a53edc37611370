//! Every fixture has its expected verdict, kind and fewest preemptions, on both backends.

use end_to_end::{Expected, Workspace};

/// Explores all tests of a shared fixture, and checks that the results are those in its
/// `expected.toml`.
fn assert_verdicts(fixture: &str, more_args: &[&str]) {
    let workspace = Workspace::shared(fixture);
    let expected = Expected::of(workspace.root());
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    // The time limit is so high that even a slow machine finishes.
    let args = [&args[..], &["--time", "4m"]].concat();
    let skipped = expected.of_the_league().flat_map(|test| ["--skip", test]);
    let args: Vec<_> = [&args[..], more_args, &["--"]].concat();
    let args: Vec<_> = args.into_iter().chain(skipped).collect();
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    expected.assert_met_by(&run);
}

/// Tests of fixtures on both backends. Each backend has its own budget of work per test. `threads` is
/// slower, and finds the same failures with less work.
macro_rules! on_both_backends {
    ($($fixture:ident $fibers:literal $threads:literal: $($arg:literal)*;)*) => {
        mod on_fibers {
            $(
                #[test]
                fn $fixture() {
                    let args = ["--backend", "fibers", "--work", $fibers $(, $arg)*];
                    super::assert_verdicts(stringify!($fixture), &args);
                }
            )*
        }
        mod on_threads {
            $(
                #[test]
                fn $fixture() {
                    let args = ["--backend", "threads", "--work", $threads $(, $arg)*];
                    super::assert_verdicts(stringify!($fixture), &args);
                }
            )*
        }
    };
}

on_both_backends! {
    catalog "6M" "3M":;
    no_std_alloc "25M" "10M":;
    members "25M" "10M": "-p" "tool" "-p" "ledger";
    harness "25M" "10M":;
    hostile "6M" "3M":;
    parking_lot "25M" "10M":;
    executors "60M" "60M":;
    opaque "25M" "10M":;
    sizes "25M" "10M":;
    io "25M" "10M":;
    elsewhere "25M" "10M": "--workspace";
    calls "25M" "10M":;
}

#[test]
fn the_programs_of_sctbench_fail_with_the_fewest_preemptions() {
    assert_verdicts("sctbench", &["--strategy", "icb"]);
}

#[test]
fn the_regression_programs_of_chess_have_the_verdicts_that_chess_gave() {
    assert_verdicts("chess_regressions", &["--strategy", "icb"]);
}

#[test]
fn executions_in_processes_of_their_own_have_the_same_verdicts() {
    // With a process for each execution, all schedules of the default budget would take minutes.
    let args = ["--isolate", "fork", "--schedules", "4000"];
    assert_verdicts("catalog", &args);
}

#[test]
fn parking_lot_explored_from_its_own_source_has_the_same_verdicts() {
    let workspace = Workspace::copy_of("parking_lot");
    let policy = |package| format!("[crates.{package}]\npolicy = \"preempt\"\n");
    let policies = policy("parking_lot") + &policy("parking_lot_core");
    workspace.write("Chess.toml", &policies);
    let args = [
        "test",
        "--no-fail-fast",
        "--message-format",
        "json",
        "--work",
        "6M",
    ];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    Expected::of(workspace.root()).assert_met_by(&run);
}
