//! `cargo bugs`: explores real bugs of published crates, and their fixed versions, with the real
//! tool.

#![forbid(unsafe_code)]

mod exploration;
mod newest;
mod table;

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use end_to_end::Workspace;
use end_to_end::catalogue::{self, Bugs, Found};

use self::exploration::Exploration;

/// Explores the bugs in fixtures/bugs, their fixed versions and the clean
/// entries, and prints the results next to the expected ones.
///
/// Bugs are explored with the default settings, except for those in the
/// Chess.toml of each entry: the policy of the crate, and once an allowed race.
///
/// The exit code is 1 if a result differs from fixtures/bugs/expected.toml.
#[derive(Parser)]
#[command(name = "cargo bugs", bin_name = "cargo bugs")]
struct Args {
    /// The highest number of schedules for each test that must pass.
    #[arg(long, value_name = "N", default_value = "100000")]
    schedules: u64,
    /// Explore the newest release of each crate with a defect instead, and print whether the defect
    /// is still there.
    #[arg(long)]
    newest: bool,
    /// Write the page of the book that lists the defects, and do nothing else.
    #[arg(long, conflicts_with = "newest")]
    catalogue: bool,
    /// Only entries whose name contains one of these.
    #[arg(value_name = "ENTRY")]
    entries: Vec<String>,
}

impl Args {
    fn selects(&self, entry: &str) -> bool {
        self.entries.is_empty() || self.entries.iter().any(|part| entry.contains(part))
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.catalogue {
        fs::write(catalogue::page_path(), catalogue::page()).expect("the page can be written");
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let Bugs {
        bug, found, clean, ..
    } = Bugs::read();
    if args.newest {
        let found: Vec<&Found> = found.iter().filter(|it| args.selects(&it.entry)).collect();
        newest::print(&found);
        return ExitCode::SUCCESS;
    }
    let workspace = Workspace::shared("bugs");
    let explore = |entry: &str| Exploration::of(&workspace, entry, None);
    let finish = |entry: &str| Exploration::of(&workspace, entry, Some(args.schedules));
    let mut differences = Vec::new();

    println!("{}", table::HEADER);
    for bug in bug.iter().filter(|bug| args.selects(&bug.entry)) {
        let buggy = explore(&bug.entry);
        let fixed = finish(&format!("{}/fixed", bug.entry));
        println!("{}", table::bug(bug, &buggy, &fixed));
        differences.extend(buggy.differences_from_bug(bug));
        differences.extend(fixed.differences_from_clean());
    }
    for tests in found.chunk_by(|one, next| one.entry == next.entry) {
        let entry = &tests[0].entry;
        if args.selects(entry) {
            let explored = explore(entry);
            for found in tests {
                println!("{}", table::found(found, &explored));
                differences.extend(explored.differences_from_found(found));
            }
        }
    }
    for clean in clean.iter().filter(|clean| args.selects(&clean.entry)) {
        let explored = finish(&clean.entry);
        println!("{}", table::clean(&explored));
        differences.extend(explored.differences_from_clean());
    }
    println!(
        "\n{:.0} s, building included",
        started.elapsed().as_secs_f64()
    );
    for difference in &differences {
        println!("not as expected: {difference}");
    }
    if differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
