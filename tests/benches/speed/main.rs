//! How fast cargo chess explores, beside loom and shuttle, all measured in this one run.
//!
//! Nothing here asserts a time: what was hoped for is printed beside what was measured.

#![forbid(unsafe_code)]

mod baselines;
mod explored;
mod one_offs;
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
    let arguments: Vec<String> = env::args().skip(1).collect();
    // `cargo bench` says so; `cargo test --all-targets` runs this too, and wants no benchmarks.
    let Some(rounds) = arguments.iter().position(|a| a == "--bench").map(|place| {
        let mut rest = arguments.clone();
        rest.remove(place);
        rest
    }) else {
        return ExitCode::SUCCESS;
    };
    let rounds = match &*rounds {
        [] => 5,
        [flag, count] if flag == "--rounds" => match count.parse() {
            Ok(count) if count > 0 => count,
            _ => return fail(&format!("--rounds takes a number above 0, not `{count}`")),
        },
        _ => return fail(&format!("not understood: {}", rounds.join(" "))),
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
    ExitCode::SUCCESS
}

fn fail(problem: &str) -> ExitCode {
    eprintln!("{problem}\n{USAGE}");
    ExitCode::FAILURE
}
