//! `cargo services`: the services of fixtures/services under each strategy, and under stress tests.

#![forbid(unsafe_code)]

mod bugs;
mod plain;
mod plot;
mod states;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use end_to_end::Workspace;

use self::plain::Plain;

/// Compares strategies and plain runs on the services in fixtures/services.
///
/// The first table is about the memcached-like service: the numbers of its distinct states after
/// 16, 64, 256, ... executions, for each strategy, and for repeated plain runs of the same test.
/// The second table has each test with a defect: the time that the tool takes to report it, and the
/// failures of plain runs in the same time.
#[derive(Parser)]
#[command(name = "cargo services", bin_name = "cargo services")]
struct Args {
    /// The number of executions of each strategy, and of plain runs.
    #[arg(long, value_name = "N", default_value = "1024")]
    schedules: u64,
    /// The curve of a strategy is the mean of this number of runs, each with another seed.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Plain runs of a test with a defect last for at least this number of seconds.
    #[arg(long, value_name = "N", default_value = "10")]
    seconds: u64,
    /// Only this strategy. The option can be repeated.
    #[arg(long = "strategy", value_name = "NAME", value_parser = states::STRATEGIES)]
    strategies: Vec<String>,
    /// Write the first table as an SVG picture to this file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Only the first table.
    #[arg(long)]
    only_states: bool,
}

fn main() {
    let args = Args::parse();
    let workspace = Workspace::shared("services");
    let plain = Plain::build(&workspace);
    let curves = states::curves(
        &workspace,
        &plain,
        &args.strategies,
        args.schedules,
        args.seeds,
    );
    println!("{}", states::table(&curves));
    if let Some(file) = &args.plot {
        std::fs::write(file, plot::svg(&curves)).expect("the file can be written");
    }
    if !args.only_states {
        let least = Duration::from_secs(args.seconds);
        println!("\n{}", bugs::table(&workspace, &plain, least));
    }
}
