//! How fast cargo chess explores, beside loom and shuttle, all measured in this one run.
//!
//! Nothing here asserts a time: what was hoped for is printed beside what was measured.

#![forbid(unsafe_code)]

mod baselines;
mod explored;
mod one_offs;
mod processor;
mod rounds;
mod sample;
mod table;

use std::env;
use std::process::ExitCode;

use end_to_end::Workspace;

use self::baselines::Baselines;
use self::explored::Explored;
use self::sample::Profile;

const USAGE: &str = "usage: cargo bench -p end-to-end --bench speed [-- --rounds N]";

fn main() -> ExitCode {
    let (told_by_cargo, own): (Vec<String>, Vec<String>) = env::args()
        .skip(1)
        .partition(|argument| argument == "--bench");
    if told_by_cargo.is_empty() {
        // `cargo test --all-targets` runs this too, and wants no benchmarks.
        return ExitCode::SUCCESS;
    }
    let rounds = match &*own {
        [] => Some(5),
        [flag, count] if flag == "--rounds" => count.parse().ok().filter(|&count| count > 0),
        _ => None,
    };
    let Some(rounds) = rounds else {
        eprintln!("not understood: {}\n{USAGE}", own.join(" "));
        return ExitCode::FAILURE;
    };

    one_offs::print();
    let workspace = Workspace::shared("benchmarks");
    for profile in [Profile::Release, Profile::Dev] {
        let chess = Explored::new(&workspace, profile);
        let baselines = Baselines::build(&workspace, profile);
        let measured = rounds::measure(&chess, &baselines, rounds);
        table::print(profile, &measured);
        one_offs::print_one_task(&chess, profile, rounds);
    }
    table::print_notes();
    ExitCode::SUCCESS
}
