//! What long executions cost: time for each event, and memory.

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;
use crate::sample::{Sample, Spread};

/// The tests of `fixtures/benchmarks/long`, and so many schedules of each that all
/// have about as many events.
const EXECUTIONS: [(&str, u64); 3] = [
    ("operations_10_000", 1_700),
    ("operations_40_000", 425),
    ("operations_170_000", 100),
];
const STRATEGIES: [&str; 2] = ["icb", "dpor"];
/// No execution is as long.
const MOST_STEPS: &str = "1000000";
/// How much memory the longest may take, in MiB.
const MOST_MEMORY: f64 = 1024.0;
/// The part of the schedules that the shorter exploration of a sample has.
const SHORTER: u64 = 5;

/// Prints both for each of them.
pub(crate) fn print(workspace: &Workspace, rounds: usize) {
    explore(workspace, "icb", EXECUTIONS[0].0, 1)
        .run()
        .assert_code(0);
    println!(
        "\nLong executions, bound 1 and without a bound, release: below {MOST_MEMORY} MiB hoped \
         for, and as much time per event however long they are\n\n\
         {:<20}{:>10}{:>12}{:>10}",
        "", "strategy", "ns/event", "MiB"
    );
    for strategy in STRATEGIES {
        for (test, schedules) in EXECUTIONS {
            let samples = (0..rounds).map(|_| {
                let [short, long] = [schedules / SHORTER, schedules]
                    .map(|schedules| sample(workspace, strategy, test, schedules));
                long.beyond(&short).nanos_per_point()
            });
            let Some(Spread {
                median,
                least,
                greatest,
            }) = Spread::of(samples)
            else {
                return;
            };
            let memory = memory(workspace, strategy, test, schedules);
            let met = if memory < MOST_MEMORY {
                "met"
            } else {
                "missed"
            };
            println!(
                "{test:<20}{strategy:>10}{median:>12.1}{memory:>10.0} {met}  ({least:.1} to {greatest:.1} ns)"
            );
        }
    }
}

fn sample(workspace: &Workspace, strategy: &str, test: &str, schedules: u64) -> Sample {
    let before = time_of_children();
    let run = explore(workspace, strategy, test, schedules).run();
    let time = time_of_children().saturating_sub(before);
    run.assert_code(0);
    let verdict = run.verdict();
    let count = |field: &str| verdict[field].as_f64().expect("a number");
    Sample {
        executions: count("executions"),
        points: count("steps"),
        time,
    }
}

/// The memory that an exploration takes, in MiB.
fn memory(workspace: &Workspace, strategy: &str, test: &str, schedules: u64) -> f64 {
    let mut process = explore(workspace, strategy, test, schedules).start();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = process.peak_memory() as f64;
    bytes / f64::from(1 << 20)
}

fn explore(workspace: &Workspace, strategy: &str, test: &str, schedules: u64) -> Chess {
    let fixed = [
        "chess",
        "test",
        "-q",
        "-p",
        "long",
        "--cargo-profile",
        "release",
    ];
    let search = [
        "--message-format",
        "json",
        "--jobs",
        "1",
        "--preemptions",
        "1",
    ];
    let limits = ["--max-steps", MOST_STEPS, "--schedules"];
    workspace
        .chess(&[&fixed[..], &search, &limits].concat())
        .arg(schedules.to_string())
        .arg("--strategy")
        .arg(strategy)
        .arg("--exact")
        .arg(test)
}
