//! The costs of long executions: time for each event, and memory.

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;
use crate::sample::{Sample, Spread};

/// The tests of `fixtures/benchmarks/long`, each with the number of its schedules. In all tests,
/// the executions have about the same number of events in total.
const EXECUTIONS: [(&str, u64); 3] = [
    ("operations_10_000", 1_700),
    ("operations_40_000", 425),
    ("operations_170_000", 100),
];
const STRATEGIES: [&str; 2] = ["icb", "dpor"];
/// A number of steps that no execution reaches.
const MOST_STEPS: &str = "1000000";
/// The goal: the highest memory of an exploration, in MiB.
const MOST_MEMORY: f64 = 1024.0;
/// The ratio of schedules between the longer and the shorter exploration of a sample.
const SHORTER: u64 = 5;

/// Prints the time and the memory of each test.
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

/// Returns the peak memory of an exploration, in MiB.
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
