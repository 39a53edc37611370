//! The printed tables: rates, their ratios and the goals.

use crate::rounds::{Measured, Tool};
use crate::sample::{Profile, Sample, Spread};

/// Returns the goal for the ratio of the rate of cargo chess to the rate of a baseline.
fn target(profile: Profile, baseline: Tool) -> f64 {
    match (profile, baseline) {
        (Profile::Release, Tool::Loom) => 30.0,
        (Profile::Release, _) => 4.0,
        (Profile::Dev, _) => 15.0,
    }
}

/// The comparisons: the search of cargo chess, the baseline, and the title of the column.
const RATIOS: [(Tool, Tool, &str); 4] = [
    (Tool::ChessBounded, Tool::Loom, "bound 2 / loom"),
    (
        Tool::ChessBounded,
        Tool::ShuttleRandom,
        "bound 2 / shuttle random",
    ),
    (
        Tool::ChessBounded,
        Tool::ShuttleDepthFirst,
        "bound 2 / shuttle DFS",
    ),
    (
        Tool::ChessRandom,
        Tool::ShuttleRandom,
        "random / shuttle random",
    ),
];

const NOTES: &str = "\
Seconds are of processor time, user and kernel: each tool uses one processor at a time, and
what else the machine does matters less. A sample of cargo chess is a longer call of the
tool less a shorter one: what is left is the cost of executions alone. At bound 2 the whole
space is explored again and again. Events are recorded; statics and heap are put back before
each execution.
Each tool's own executions and scheduling points are counted, and they are not alike:
  loom      reduces partial orders and models weak memory and leaks; bound of 2 preemptions
  shuttle   sequentially consistent, no bound, no reduction; its DFS does not know yields,
            so that in `spin` it follows executions of thousands of steps: not compared
The dev profile is that of the workloads, and of loom and shuttle as their users build
them; the runtime of cargo chess is optimised always.
Ratios are medians of the rounds' own ratios, with the least and the greatest.";

fn name(tool: Tool) -> &'static str {
    match tool {
        Tool::ChessBounded => "cargo chess, bound 2",
        Tool::ChessRandom => "cargo chess, random",
        Tool::Loom => "loom, bound 2",
        Tool::ShuttleRandom => "shuttle, random",
        Tool::ShuttleDepthFirst => "shuttle, DFS",
    }
}

/// Prints the table of one profile.
pub(crate) fn print(profile: Profile, all: &[Measured]) {
    println!("\n== {} profile ==\n", profile.name());
    println!(
        "{:<13} {:<21} {:>13} {:>13} {:>13}",
        "workload", "tool", "executions/s", "points/exec.", "ns/point"
    );
    for measured in all {
        for tool in Tool::ALL {
            println!(
                "{:<13} {:<21} {}",
                measured.workload,
                name(tool),
                row(measured, tool)
            );
        }
    }
    for (ours, theirs, title) in RATIOS {
        print_ratio(profile, all, (ours, theirs), title);
    }
}

/// Prints an explanation of the tables.
pub(crate) fn print_notes() {
    println!("\n{NOTES}");
}

fn row(measured: &Measured, tool: Tool) -> String {
    let samples = match measured.samples(tool) {
        Ok(samples) => samples,
        Err(error) => return format!("  gave up: {}", first_sentence(error)),
    };
    let median = |value: fn(&Sample) -> f64| {
        Spread::of(samples.iter().map(value)).map_or(f64::NAN, |spread| spread.median)
    };
    format!(
        "{:>13.0} {:>13.1} {:>13.1}",
        median(Sample::rate),
        median(Sample::points_per_execution),
        median(Sample::nanos_per_point)
    )
}

fn print_ratio(profile: Profile, all: &[Measured], (ours, theirs): (Tool, Tool), title: &str) {
    let target = target(profile, theirs);
    println!("\n{title}: at least {target}x hoped for");
    let compared = all
        .iter()
        .filter(|measured| theirs != Tool::ShuttleDepthFirst || measured.workload != "spin");
    let mut medians = Vec::new();
    for measured in compared {
        let Some(spread) = Spread::of(measured.ratios(ours, theirs)) else {
            println!(
                "  {:<13} not comparable: one of them gave up",
                measured.workload
            );
            continue;
        };
        medians.push(spread.median);
        println!("  {:<13} {}", measured.workload, verdict(spread, target));
    }
    if let Some(spread) = Spread::of(medians) {
        println!("  {:<13} {}", "all", verdict(spread, target));
    }
}

fn verdict(spread: Spread, target: f64) -> String {
    let Spread {
        median,
        least,
        greatest,
    } = spread;
    let met = if median >= target { "met" } else { "missed" };
    format!("{median:>6.1}x ({least:.1} to {greatest:.1})  {met}")
}

fn first_sentence(text: &str) -> &str {
    text.split(". ").next().unwrap_or(text)
}
