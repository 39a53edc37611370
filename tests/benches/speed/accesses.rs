//! The cost of watching all accesses to plain memory: the rate of executions, and the memory.

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;
use crate::sample::{Profile, Sample, Spread};

/// A test whose executions are timed with and without the watch.
struct Measured {
    workspace: &'static str,
    package: &'static str,
    binary: &'static str,
    test: &'static str,
    /// The goal: the smallest ratio of the rate of executions with the watch to the rate without
    /// it.
    part: f64,
    /// The number of executions of the longer exploration of a sample.
    schedules: u64,
}

impl Measured {
    /// A test of `fixtures/benchmarks/accesses`. Those in [`TESTS`] have a thousand plain accesses in
    /// each execution.
    const fn thousand(test: &'static str) -> Self {
        Self {
            workspace: "benchmarks",
            package: "accesses",
            binary: "places",
            test,
            part: 0.4,
            schedules: 105_000,
        }
    }

    /// A test of an executor, whose packages are all watched.
    const fn executor(binary: &'static str, test: &'static str, schedules: u64) -> Self {
        Self {
            workspace: "executors",
            package: "executors",
            binary,
            test,
            part: 2.0 / 3.0,
            schedules,
        }
    }
}

const TESTS: [Measured; 6] = [
    Measured::thousand("few_places"),
    Measured::thousand("many_places"),
    Measured::executor("stealing", "fixed", 15_000),
    Measured::executor("tokio", "lost_update::fixed", 15_000),
    Measured::executor("tokio", "channels_deliver", 15_000),
    Measured::executor("select", "futures_select::fixed", 205_000),
];
/// The test that writes to a large block of memory.
const MUCH: Measured = Measured::thousand("much");
/// The size of the memory that the test [`MUCH`] accesses, in MiB.
const BYTES: f64 = 32.0;

/// The number of executions of the shorter exploration of a sample.
const SHORT: u64 = 5_000;

/// The value of `--memory-accesses` without the watch of accesses.
const IGNORED: &str = "ignore";
/// The value of `--memory-accesses` with the watch of accesses.
const WATCHED: &str = "watch";

/// Prints the rates of executions, and the memory.
pub(crate) fn print(rounds: usize) {
    println!(
        "\nExecutions per second, strategy random, where accesses to plain memory are ignored, and \
         where all of the build are watched\n\n\
         {:<24}{:>10}{:>10}{:>10}{:>8}{:>18}",
        "", "profile", "ignored", "watched", "part", "(of each round)"
    );
    for profile in [Profile::Release, Profile::Dev] {
        for test in &TESTS {
            for accesses in [IGNORED, WATCHED] {
                explore(test, profile, accesses, 1).run().assert_code(0);
            }
            let rate = |accesses| {
                let [short, long] = [SHORT, test.schedules]
                    .map(|schedules| sample(test, profile, accesses, schedules));
                long.beyond(&short).rate()
            };
            let (ignored, watched): (Vec<f64>, Vec<f64>) =
                (0..rounds).map(|_| (rate(IGNORED), rate(WATCHED))).unzip();
            row(test, profile, &ignored, &watched);
        }
    }
    let [ignored, watched] = [IGNORED, WATCHED].map(memory);
    println!(
        "\nMemory for each byte that is watched, of {BYTES} MiB written by two tasks: {:.1} bytes",
        (watched - ignored) / BYTES
    );
}

fn row(test: &Measured, profile: Profile, ignored: &[f64], watched: &[f64]) {
    let pairs = ignored
        .iter()
        .zip(watched)
        .map(|(ignored, watched)| watched / ignored);
    let spreads = (
        Spread::of(pairs),
        Spread::of(ignored.to_vec()),
        Spread::of(watched.to_vec()),
    );
    let (Some(each), Some(ignored), Some(watched)) = spreads else {
        return;
    };
    let part = test.part;
    let met = if each.median >= part { "met" } else { "missed" };
    println!(
        "{:<24}{:>10}{:>10.0}{:>10.0}{:>8.2}{:>18}  {part:.2} is asked for: {met}",
        test.test,
        profile.name(),
        ignored.median,
        watched.median,
        each.median,
        format!("{:.2} to {:.2}", each.least, each.greatest),
    );
}

fn sample(test: &Measured, profile: Profile, accesses: &str, schedules: u64) -> Sample {
    let before = time_of_children();
    let run = explore(test, profile, accesses, schedules).run();
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

/// Returns the peak memory of a short exploration of [`MUCH`], in MiB.
fn memory(accesses: &str) -> f64 {
    let mut process = explore(&MUCH, Profile::Release, accesses, 2).start();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = process.peak_memory() as f64;
    bytes / f64::from(1 << 20)
}

fn explore(test: &Measured, profile: Profile, accesses: &str, schedules: u64) -> Chess {
    let fixed = ["chess", "test", "-q", "--message-format", "json"];
    let which = [
        "-p",
        test.package,
        "--test",
        test.binary,
        "--exact",
        test.test,
    ];
    let search = ["--strategy", "random", "--jobs", "1", "--memory-accesses"];
    Workspace::shared(test.workspace)
        .chess(&[&fixed[..], &which, &search, &[accesses]].concat())
        .arg("--schedules")
        .arg(schedules.to_string())
        .arg("--cargo-profile")
        .arg(profile.name())
}
