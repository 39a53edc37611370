//! The speed of cargo chess, next to loom and shuttle, in one process and in two, and its costs.
//!
//! No time is asserted here: the goals are printed next to the measurements.

#![forbid(unsafe_code)]

mod accesses;
mod baselines;
mod building;
mod costs;
mod exhaust;
mod explored;
mod long;
mod one_offs;
mod processor;
mod rounds;
mod sample;
mod table;
mod workers;

use std::env;
use std::process::ExitCode;

use end_to_end::Workspace;

use self::baselines::Baselines;
use self::explored::Explored;
use self::sample::Profile;

const USAGE: &str = "usage: cargo bench -p end-to-end --bench speed [-- [--rounds N] [rates|exhaust|long|accesses|workers|costs|building]...]";

/// The parts that can be measured separately. The default is all parts.
const PARTS: [&str; 7] = [
    "rates", "exhaust", "long", "accesses", "workers", "costs", "building",
];

fn main() -> ExitCode {
    let (told_by_cargo, own): (Vec<String>, Vec<String>) = env::args()
        .skip(1)
        .partition(|argument| argument == "--bench");
    if told_by_cargo.is_empty() {
        // `cargo test --all-targets` runs this program too, but should not run benchmarks.
        return ExitCode::SUCCESS;
    }
    let (rounds, parts) = match &*own {
        [flag, count, parts @ ..] if flag == "--rounds" => (count.parse().unwrap_or(0), parts),
        parts => (5, parts),
    };
    if rounds == 0 || !parts.iter().all(|part| PARTS.contains(&&**part)) {
        eprintln!("not understood: {}\n{USAGE}", own.join(" "));
        return ExitCode::FAILURE;
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|named| named == part);

    let workspace = Workspace::shared("benchmarks");
    if wanted("rates") {
        print_rates(&workspace, rounds);
    }
    if wanted("exhaust") {
        exhaust::print(&workspace, rounds);
    }
    if wanted("long") {
        long::print(&workspace, rounds);
    }
    if wanted("accesses") {
        accesses::print(rounds);
    }
    if wanted("workers") {
        workers::print(&workspace, rounds);
    }
    if wanted("costs") {
        for profile in [Profile::Release, Profile::Dev] {
            costs::print(&workspace, profile, rounds);
        }
        costs::print_notes();
    }
    if wanted("building") {
        building::print();
    }
    ExitCode::SUCCESS
}

/// Prints the rate of each tool, and the related measurements.
fn print_rates(workspace: &Workspace, rounds: usize) {
    one_offs::print();
    for profile in [Profile::Release, Profile::Dev] {
        let chess = Explored::new(workspace, profile);
        let baselines = Baselines::build(workspace, profile);
        let measured = rounds::measure(&chess, &baselines, rounds);
        table::print(profile, &measured);
        one_offs::print_one_task(&chess, profile, rounds);
    }
    table::print_notes();
}
