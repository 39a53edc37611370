//! `cargo rewrites`: published sources, rewritten to report their references to raw memory, and
//! compiled.

#![forbid(unsafe_code)]

mod check;
mod sources;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use self::sources::Rewritten;

/// Rewrites the sources of published crates so that they report their references to raw memory,
/// compiles them, and prints the numbers of references that were found and that are reported.
///
/// The crates and their versions are those of fixtures/rewrites/Cargo.toml. A site that rustc
/// rejects is left unchanged, and the crate is compiled again, until it compiles. The exit code is
/// 1 if a crate does not compile at all.
#[derive(Parser)]
#[command(name = "cargo rewrites", bin_name = "cargo rewrites")]
struct Args {
    /// The crates, for instance `tokio` or `parking_lot@0.12`. The default is all crates.
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Only rewrite; compile nothing.
    #[arg(long)]
    no_check: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut packages = sources::fetch();
    packages.retain(|package| package.is_one_of(&args.crates));
    let mut rewritten: Vec<Rewritten> = packages.into_iter().map(Rewritten::new).collect();
    let time: Duration = rewritten.iter().map(|package| package.time).sum();
    let unexplained = if args.no_check {
        Vec::new()
    } else {
        check::until_it_compiles(&mut rewritten)
    };
    print!("{}", table::of(&rewritten));
    eprintln!("rewritten in {:.2} s", time.as_secs_f64());
    for package in &rewritten {
        for (file, error) in &package.unreadable {
            eprintln!("{} {}: {error}", package.package, file.display());
        }
        for (file, id, error) in &package.refused {
            let (line, column) = (id.line, id.column);
            eprintln!(
                "{} {}:{line}:{column}: {} refused: {error}",
                package.package,
                file.display(),
                id.kind
            );
        }
    }
    for error in &unexplained {
        eprintln!("{error}");
    }
    if unexplained.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
