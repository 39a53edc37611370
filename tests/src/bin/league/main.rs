//! `cargo league`: a comparison of strategies on the bugs in fixtures/sctbench, with published
//! results.

#![forbid(unsafe_code)]

mod programs;
mod results;
mod table;
mod trial;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use clap::Parser;
use end_to_end::Workspace;

use self::programs::Program;
use self::results::Results;
use self::trial::Trial;

/// All strategies, in the order of the columns.
const STRATEGIES: [&str; 8] = [
    "icb", "dpor", "random", "pct", "pos", "surw", "delay", "auto",
];

/// The strategies that do not depend on the seed. One trial of each one suffices.
const WITHOUT_SEED: [&str; 3] = ["icb", "dpor", "delay"];

/// Searches for the bugs in fixtures/sctbench with each strategy, and prints the number of
/// schedules to each bug, next to the published results of other tools.
///
/// Strategies that the tool does not have are left out, with a note. The exit code is 1 if a
/// published strategy finds more bugs than `auto`.
#[derive(Parser)]
#[command(name = "cargo league", bin_name = "cargo league")]
struct Args {
    /// Only this strategy. The option can be repeated.
    #[arg(long = "strategy", value_name = "NAME", value_parser = STRATEGIES)]
    strategies: Vec<String>,
    /// The highest number of schedules for each program in each trial.
    #[arg(long, value_name = "N", default_value = "10000")]
    schedules: u64,
    /// The highest number of schedules for the program `safestack` in each trial. With 0 it is left
    /// out.
    #[arg(long, value_name = "N", default_value = "1000000")]
    safestack: u64,
    /// The number of trials of each strategy that depends on a seed.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The number of trials that run at the same time.
    #[arg(long, value_name = "N", default_value_t = available())]
    jobs: usize,
    /// Only programs whose name contains one of these.
    #[arg(value_name = "PROGRAM")]
    programs: Vec<String>,
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl Args {
    fn selects(&self, program: &Program) -> bool {
        let parts = &self.programs;
        let is_named = parts.is_empty() || parts.iter().any(|part| program.name.contains(part));
        is_named && (self.safestack > 0 || !program.is_safestack())
    }

    fn strategies(&self) -> impl Iterator<Item = &'static str> {
        let all = STRATEGIES.into_iter();
        all.filter(|name| {
            self.strategies.is_empty() || self.strategies.iter().any(|one| one == name)
        })
    }

    fn seeds(&self, strategy: &str) -> u64 {
        if WITHOUT_SEED.contains(&strategy) {
            1
        } else {
            self.seeds
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let started = Instant::now();
    let workspace = Workspace::shared("sctbench");
    let mut programs = Program::all(&workspace);
    programs.retain(|program| args.selects(program));

    let mut results = first_trials(&args, &workspace, &programs);
    further_trials(&args, &workspace, &programs, &mut results);

    println!("{}\n", table::table(&programs, &results));
    println!("{}", table::comparison(&programs, &results));
    for remark in results.iter().flat_map(|results| &results.remarks) {
        println!("another failure: {remark}");
    }
    println!(
        "\n{:.0} s, building included",
        started.elapsed().as_secs_f64()
    );
    let auto = results.iter().find(|results| results.strategy == "auto");
    let ahead: Vec<_> = auto
        .into_iter()
        .flat_map(|auto| table::ahead_of(&programs, auto))
        .collect();
    for name in &ahead {
        println!("not as expected: {name} finds more than auto");
    }
    if ahead.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs the first trial of each strategy. Leaves out the strategies that the tool does not have.
fn first_trials(args: &Args, workspace: &Workspace, programs: &[Program]) -> Vec<Results> {
    let first = |strategy: &'static str| {
        let trial = Trial {
            strategy,
            seed: 0,
            schedules: args.schedules,
        };
        let mut results = Results::new(strategy, programs.len());
        let is_part = |one: &Program| !one.is_safestack();
        let Some(verdicts) = trial.run(workspace, programs, is_part, args.jobs) else {
            println!("left out: {strategy}, which the tool does not have");
            return None;
        };
        results.add(programs, verdicts);
        Some(results)
    };
    args.strategies().filter_map(first).collect()
}

/// Runs all other trials and the trials of `SafeStack`, `--jobs` at once.
fn further_trials(
    args: &Args,
    workspace: &Workspace,
    programs: &[Program],
    results: &mut [Results],
) {
    // The trials of SafeStack take longest, so they begin first.
    let mut trials = VecDeque::new();
    for (is_safestack, schedules) in [(true, args.safestack), (false, args.schedules)] {
        for (column, one) in results.iter().enumerate() {
            let strategy = one.strategy.clone();
            let seeds = u64::from(!is_safestack)..args.seeds(&strategy);
            let more = seeds.map(|seed| (column, strategy.clone(), seed, schedules, is_safestack));
            trials.extend(more);
        }
    }
    let trials = Mutex::new(trials);
    let results = Mutex::new(results);
    let next = || trials.lock().expect("nobody panics here").pop_front();
    thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                while let Some((column, strategy, seed, schedules, is_safestack)) = next() {
                    let trial = Trial {
                        strategy: &strategy,
                        seed,
                        schedules,
                    };
                    let is_part = |one: &Program| one.is_safestack() == is_safestack;
                    let Some(verdicts) = trial.run(workspace, programs, is_part, 1) else {
                        panic!("the tool had a strategy {strategy} and has none");
                    };
                    let mut results = results.lock().expect("nobody panics here");
                    results[column].add(programs, verdicts);
                }
            });
        }
    });
}
