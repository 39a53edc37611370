//! The speed-up from exploring one test in two processes.

use end_to_end::{Workspace, without_durations};
use serde_json::Value;

use crate::sample::{Profile, Spread};

/// Workloads with far more schedules than are explored.
const WORKLOADS: [&str; 2] = ["rwlock", "buffer"];
const SCHEDULES: &str = "500000";
/// The goal for the speed-up from two processes.
const RATIO: f64 = 1.8;

/// Prints the table of the times of one process and of two processes.
pub(crate) fn print(workspace: &Workspace, rounds: usize) {
    println!(
        "\nTwo workers beside one, release, {SCHEDULES} schedules: milliseconds by the wall\n\n\
         {:<10}{:>10}{:>10}{:>10}{:>18}",
        "", "one", "two", "ratio", "(of each round)"
    );
    for workload in WORKLOADS {
        let _build = run(workspace, workload, "1");
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            // With this order, a steady change of the machine's speed affects both numbers of jobs
            // equally.
            let runs = ["1", "2", "2", "1"].map(|jobs| run(workspace, workload, jobs));
            let same = runs.iter().all(|run| run.0 == runs[0].0);
            assert!(same, "two workers tell what one tells");
            one.push(f64::midpoint(runs[0].1, runs[3].1));
            two.push(f64::midpoint(runs[1].1, runs[2].1));
        }
        row(workload, &one, &two);
    }
    println!("\nAll are medians of the rounds: in each, one explores before and after two do.");
}

fn row(workload: &str, one: &[f64], two: &[f64]) {
    let ratios = one.iter().zip(two).map(|(one, two)| one / two);
    let spreads = (
        Spread::of(ratios),
        Spread::of(one.to_vec()),
        Spread::of(two.to_vec()),
    );
    let (Some(ratio), Some(one), Some(two)) = spreads else {
        return;
    };
    let met = if ratio.median >= RATIO {
        "met"
    } else {
        "missed"
    };
    println!(
        "{workload:<10}{:>10.0}{:>10.0}{:>9.2}x{:>18}  {RATIO}x is asked for: {met}",
        one.median,
        two.median,
        ratio.median,
        format!("{:.2} to {:.2}", ratio.least, ratio.greatest),
    );
}

/// Returns the events of a run, and the duration of its only test.
fn run(workspace: &Workspace, workload: &str, jobs: &str) -> (Vec<Value>, f64) {
    let explore = ["chess", "test", "-q", "--message-format", "json"];
    let test = ["-p", "explored", "--exact", workload];
    let profile = ["--cargo-profile", Profile::Release.name()];
    let search = ["--strategy", "icb", "--preemptions", "100"];
    let much = ["--schedules", SCHEDULES, "--jobs", jobs];
    let args = [&explore[..], &test, &profile, &search, &much].concat();
    let run = workspace.chess(&args).run();
    run.assert_code(0);
    let time = run.verdict()["duration_ms"].as_f64();
    (without_durations(run.events()), time.unwrap_or(f64::NAN))
}
