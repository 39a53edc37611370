//! `cargo corpus`: the test suites of published crates, under plain `cargo test` and under `cargo
//! chess test`.

#![forbid(unsafe_code)]

mod table;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use end_to_end::published::{Corpus, Explored, Native, Package};

use self::table::{Comparison, HEADER, Totals};

/// Runs the test suites of published concurrency crates, and prints the tests that pass under
/// `cargo test` but not under `cargo chess test`.
///
/// The crates and their versions are those of fixtures/corpus/Cargo.toml. Each is copied, as
/// published, below target/end-to-end/published, and explored as the member of a workspace. The
/// results of `cargo test` are kept there; remove the directory to start again. Failing tests are
/// explored a second time with timeouts and sleeps that end only when no other task can run: a test
/// that then passes relies on the length of its sleeps. The exit code is 1 if a test that passes
/// under `cargo test` does not pass.
#[derive(Parser)]
#[command(name = "cargo corpus", bin_name = "cargo corpus")]
struct Args {
    /// The highest number of schedules for each test.
    #[arg(long, value_name = "N", default_value = "1")]
    schedules: u64,
    /// The time limit for each test, for instance 5s.
    #[arg(long, value_name = "DUR", default_value = "10s")]
    time: String,
    /// The crates, for instance `tokio` or `parking_lot@0.12`. The default is all crates.
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// More arguments for `cargo chess test`.
    #[arg(last = true, value_name = "ARGS")]
    more: Vec<String>,
}

impl Args {
    fn selects(&self, package: &Package) -> bool {
        let names = &self.crates;
        names.is_empty() || names.iter().any(|name| package.is_called(name))
    }

    /// Returns the arguments of `cargo chess test` that configure the exploration.
    fn exploration(&self) -> Vec<String> {
        let mut all = vec![
            format!("--schedules={}", self.schedules),
            format!("--time={}", self.time),
        ];
        all.extend_from_slice(&self.more);
        all
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let started = Instant::now();
    let mut packages = Corpus::fetch().packages;
    packages.retain(|package| args.selects(package));
    if packages.is_empty() {
        eprintln!(
            "no such crate in fixtures/corpus/Cargo.toml: {}",
            args.crates.join(", ")
        );
        return ExitCode::FAILURE;
    }

    let mut totals = Totals::default();
    let mut alarms = Vec::new();
    println!("{HEADER}");
    for package in &packages {
        let workspace = package.workspace();
        let native = match Native::of(package, &workspace) {
            Ok(native) => native,
            Err(error) => {
                let Package { name, version, .. } = package;
                println!("{name:<25} {version:<8} does not build under plain cargo test");
                alarms.push(format!("{name} {version}: {error}"));
                continue;
            }
        };
        let mut exploration = args.exploration();
        let explored = Explored::of(package, &workspace, &exploration, "explored");
        let comparison = Comparison::new(&native, &explored);
        let failed = comparison.failed();
        let orderly = (!failed.is_empty()).then(|| {
            exploration.extend(["--timers=last".to_owned(), "--exact".to_owned()]);
            exploration.extend(failed.into_iter().map(|(_, path)| path.clone()));
            Explored::of(package, &workspace, &exploration, "orderly")
        });
        println!("{}", comparison.row(package, &explored));
        totals.add(&comparison);
        alarms.extend(comparison.alarms(package, orderly.as_ref()));
    }
    println!("{}", totals.row(started.elapsed()));
    if alarms.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nPass under cargo test, and not under cargo chess test:");
    for alarm in alarms {
        println!("{alarm}");
    }
    ExitCode::FAILURE
}
