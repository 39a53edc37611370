//! Every fixture gets its verdict, kind and fewest preemptions, on both backends.

use end_to_end::{Expected, Workspace};

/// Explores all tests of a shared fixture and compares with its `expected.toml`.
fn assert_verdicts(fixture: &str, more_args: &[&str]) {
    let workspace = Workspace::shared(fixture);
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&args, more_args].concat()).run();
    run.assert_code(100);
    Expected::of(workspace.root()).assert_met_by(&run);
}

macro_rules! on_both_backends {
    ($($fixture:ident: $($arg:literal)*;)*) => {
        mod on_fibers {
            $(
                #[test]
                fn $fixture() {
                    super::assert_verdicts(stringify!($fixture), &["--backend", "fibers" $(, $arg)*]);
                }
            )*
        }
        mod on_threads {
            $(
                #[test]
                fn $fixture() {
                    super::assert_verdicts(stringify!($fixture), &["--backend", "threads" $(, $arg)*]);
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
    opaque:;
    io:;
}

#[test]
fn executions_in_processes_of_their_own_have_the_same_verdicts() {
    assert_verdicts("catalog", &["--isolate", "fork"]);
}
