//! `cargo suites`: the test suites of 30 published crates, run with default settings as a new user
//! would run them.

#![forbid(unsafe_code)]

mod explained;
mod row;
mod table;
#[cfg(test)]
mod tests;

use std::fs;
use std::process::ExitCode;

use clap::Parser;
use end_to_end::published::{Corpus, Explored, Native, Package};

use self::explained::Explanations;
use self::row::{Row, Rows};

/// Runs the tests of published crates under `cargo test` and under `cargo chess test` with its
/// default settings, and prints a table of the results.
///
/// The crates are those that fixtures/corpus/Cargo.toml lists as suites. A row is saved below
/// target/ as soon as a suite has been run, so that an interrupted run continues with the next
/// suite. Suites that are named are always run, and no others. A changed tool, or other arguments,
/// discard the saved rows. The exit code is 1 if a test that passes under `cargo test` has no
/// verdict, or fails without being explained as a defect in fixtures/corpus/explained.toml, or if a
/// suite of at most 250 tests took more than five minutes.
#[derive(Parser)]
#[command(name = "cargo suites", bin_name = "cargo suites")]
struct Args {
    /// Removes the build directory of a suite after its run.
    #[arg(long)]
    clean: bool,
    /// The suites, for instance `tokio` or `parking_lot@0.12`. The default is all suites.
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
    /// More arguments for `cargo chess test`, in place of its default settings.
    #[arg(last = true, value_name = "ARGS")]
    more: Vec<String>,
}

impl Args {
    fn names(&self, package: &Package) -> bool {
        self.suites.iter().any(|name| package.is_called(name))
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Corpus {
        mut packages,
        suites,
    } = Corpus::fetch();
    packages.retain(|package| suites.iter().any(|name| package.is_called(name)));
    if !args.suites.is_empty() {
        packages.retain(|package| args.names(package));
    }
    if packages.is_empty() {
        eprintln!(
            "no such suite in fixtures/corpus/Cargo.toml: {}",
            args.suites.join(", ")
        );
        return ExitCode::FAILURE;
    }

    let explanations = Explanations::read();
    let mut kept = Rows::read(&args.more);
    let mut rows = Vec::new();
    println!("{}", table::HEADER);
    for package in &packages {
        let mut row = Row::of(package);
        if let Some(known) = kept.get(&row).filter(|_| !args.names(package)) {
            row.clone_from(known);
        } else {
            run(package, &args, &mut row);
            kept.keep(row.clone());
        }
        println!("{}", table::row(&row));
        rows.push(row);
    }
    println!("{}", table::total(&rows));

    let alarms = table::print_failures(&rows, &explanations);
    if alarms.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nNot as it should be:");
    for alarm in alarms {
        println!("{alarm}");
    }
    ExitCode::FAILURE
}

/// Runs the suite of `package` and writes the results into `row`.
fn run(package: &Package, args: &Args, row: &mut Row) {
    let workspace = package.workspace();
    match Native::of(package, &workspace) {
        Ok(native) => {
            let explored = Explored::of(package, &workspace, &args.more, "suite");
            row.fill(&native, &explored);
        }
        Err(_) => row.broken = Some("does not build under cargo test".to_owned()),
    }
    if args.clean {
        // It does no harm if the directory cannot be removed.
        let _gone = fs::remove_dir_all(workspace.root().join("target"));
    }
}
