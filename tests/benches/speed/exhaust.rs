//! The time that cargo chess and loom need for all schedules: within two preemptions, and without a
//! bound.

use std::time::Duration;

use end_to_end::Workspace;

use crate::baselines::Baselines;
use crate::explored::{Explored, Search};
use crate::sample::{Profile, Sample, Spread};

const WORKLOADS: [&str; 5] = ["mutex", "fetch_add", "buffer", "store_buffer", "rwlock"];
/// The workload in which tasks may wake up spuriously.
const WAITS: &str = "buffer";
/// The time limit of loom.
const MOST_MILLISECONDS: &str = "10000";
/// The goal: the lowest ratio of loom's time to the time of cargo chess within two preemptions.
const RATIO_BOUNDED: f64 = 50.0;
/// The goal: the lowest ratio of loom's time to the time of cargo chess without a bound, on the
/// first workload.
const RATIO_UNBOUNDED: f64 = 500.0;
/// The highest number of executions of a search of cargo chess without a bound.
const MOST_EXECUTIONS: u64 = 1_000_000;

/// Prints both tables.
pub(crate) fn print(workspace: &Workspace, rounds: usize) {
    let chess = Explored::new(workspace, Profile::Release);
    let baselines = Baselines::build(workspace, Profile::Release);
    println!("\nTime to see all there is, release: milliseconds (executions)\n");
    println!(
        "{:<14}{:>24}{:>24}{:>10}",
        "up to 2", "cargo chess", "loom", "ratio"
    );
    let without_spurious = chess.without_spurious();
    for workload in WORKLOADS {
        let theirs = again_and_again(&baselines, workload, rounds);
        print_bounded(&chess, workload, workload, theirs.clone(), rounds);
        if workload == WAITS {
            let name = format!("{workload}, never");
            print_bounded(&without_spurious, workload, &name, theirs, rounds);
        }
    }
    println!(
        "\n{:<14}{:>24}{:>24}{:>10}",
        "no bound", "cargo chess", "loom", "ratio"
    );
    for workload in WORKLOADS {
        let theirs = of_loom(&baselines, "loom-once", workload);
        let all = (0..rounds).map(|_| chess.exhaust(workload, MOST_EXECUTIONS));
        match all.collect::<Option<Vec<_>>>() {
            Some(runs) => {
                #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
                let times = runs.iter().map(|run| run.1.max(1) as f64);
                let hoped = (workload == WORKLOADS[0]).then_some(RATIO_UNBOUNDED);
                row(workload, median(times), runs[0].0, theirs, hoped);
            }
            None => println!("{workload:<14}{:>24}", "more than 1,000,000"),
        }
    }
    println!(
        "\nUp to 2: each by what it does again and again, on a processor.\n\
         cargo chess without a bound is timed by the wall, with the start of its process;\n\
         loom is given ten seconds (+: not done by then). It models weak memory besides;\n\
         cargo chess tries spurious wake-ups besides, but for `--spurious never`."
    );
}

/// Prints a row of the table of searches within two preemptions.
fn print_bounded(
    chess: &Explored<'_>,
    workload: &str,
    name: &str,
    theirs: Result<Sample, String>,
    rounds: usize,
) {
    let space = chess.space(workload);
    let ours = median((0..rounds).map(|_| {
        let rate = chess.sample(workload, Search::Bounded).rate();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let schedules = space as f64;
        schedules / rate * 1e3
    }));
    row(name, ours, space, theirs, Some(RATIO_BOUNDED));
}

/// Returns the executions of one search of loom within two preemptions, with their time at the
/// rate of repeated searches. The time of a single search varies by a factor of two.
fn again_and_again(baselines: &Baselines, workload: &str, rounds: usize) -> Result<Sample, String> {
    let once = of_loom(baselines, "loom-2-once", workload)?;
    let samples = (0..rounds).map(|_| baselines.sample("loom-2", workload));
    let rates = samples.map(|sample| sample.map(|sample| sample.rate()));
    let rate = median(rates.collect::<Result<Vec<_>, _>>()?.into_iter());
    let time = Duration::from_secs_f64(once.executions / rate);
    Ok(Sample { time, ..once })
}

fn of_loom(baselines: &Baselines, tool: &str, workload: &str) -> Result<Sample, String> {
    baselines.measure(tool, workload, MOST_MILLISECONDS)
}

fn row(
    workload: &str,
    ours: f64,
    executions: u64,
    theirs: Result<Sample, String>,
    hoped: Option<f64>,
) {
    let own = format!("{ours:.2} ({executions})");
    match theirs {
        Ok(sample) => {
            let time = sample.time.as_secs_f64() * 1e3;
            let more = if time > 9_900.0 { "+" } else { "" };
            let loom = format!("{time:.1}{more} ({})", sample.executions);
            let ratio = time / ours;
            let verdict = hoped.map_or_else(String::new, |hoped| {
                let met = if ratio >= hoped { "met" } else { "missed" };
                format!(", {hoped}x hoped for: {met}")
            });
            println!("{workload:<14}{own:>24}{loom:>24}{ratio:>9.0}x{more}{verdict}");
        }
        Err(error) => println!("{workload:<14}{own:>24}  loom gives up: {error}"),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Spread::of(values).map_or(f64::NAN, |spread| spread.median)
}
