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

macro_rules! on_both_backends {
    ($($fixture:ident: $($arg:literal)*;)*) => {
        mod on_fibers {
            $(
                #[test]
                fn $fixture() {
                    let args = ["--backend", "fibers", "--work", "25M" $(, $arg)*];
                    super::assert_verdicts(stringify!($fixture), &args);
                }
            )*
        }
        mod on_threads {
            $(
                #[test]
                fn $fixture() {
                    // The backend of threads is slower, but finds the same failures with little
                    // work.
                    let args = ["--backend", "threads", "--work", "10M" $(, $arg)*];
                    super::assert_verdicts(stringify!($fixture), &args);
                }
            )*
        }
    };
}

on_both_backends! {
    catalog:;
    no_std_alloc:;
    members: "-p" "tool" "-p" "ledger";
    harness:;
    hostile:;
    parking_lot:;
    executors:;
    opaque:;
    sizes:;
    io:;
    elsewhere: "--workspace";
    calls:;
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
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    Expected::of(workspace.root()).assert_met_by(&run);
}
