//! Measurements other than throughput: start-up, building the runtime, a test of one task.

use std::time::{Duration, Instant};

use end_to_end::Workspace;

use crate::explored::{Explored, Search};
use crate::processor::time_of_children;
use crate::sample::{Profile, Spread};

const START_UP: Duration = Duration::from_millis(500);
const RUNTIME: Duration = Duration::from_mins(1);
const ONE_TASK_NANOS: f64 = 2000.0;
/// The number of times that the start-up of the tool is measured.
const STARTS: usize = 7;

/// Measures the build of the runtime, and the start-up once it is built.
pub(crate) fn print() {
    // The first call builds the tool itself.
    let version = Workspace::empty().chess(&["--version"]).run();
    version.assert_code(0);
    let before = time_of_children();
    let build = report(&[build_runtime()], RUNTIME);
    let processor = time_of_children().saturating_sub(before).as_secs_f64();
    println!("building the runtime: {build}; {processor:.1} s of processor time");
    println!(
        "start-up with everything built: {}",
        report(&start_up(), START_UP)
    );
}

/// Prints the cost of an execution with a single task. The body of the task takes a few
/// nanoseconds.
pub(crate) fn print_one_task(chess: &Explored<'_>, profile: Profile, rounds: usize) {
    let samples = (0..rounds).map(|_| 1e9 / chess.sample("one_task", Search::Random).rate());
    let Some(Spread {
        median,
        least,
        greatest,
    }) = Spread::of(samples)
    else {
        return;
    };
    let met = if median < ONE_TASK_NANOS {
        "met"
    } else {
        "missed"
    };
    println!(
        "\nan execution of one task, {} profile: {median:.0} ns ({least:.0} to {greatest:.0}), \
         below {ONE_TASK_NANOS} ns hoped for: {met}",
        profile.name()
    );
}

/// Returns the time of the first call with an empty cache, in a workspace with almost no code to
/// build.
fn build_runtime() -> Duration {
    let workspace = Workspace::with_library("#[test]\nfn nothing() {}\n");
    let cache = Workspace::empty();
    let start = Instant::now();
    workspace
        .chess(&["chess", "test", "-q"])
        .env("CHESS_CACHE_DIR", cache.root())
        .run()
        .assert_code(0);
    start.elapsed()
}

/// Returns the times of repeated calls for one test of a small workspace. A first call, which is
/// not measured, builds everything.
fn start_up() -> Vec<Duration> {
    let workspace = Workspace::shared("members");
    let filter = ["chess", "test", "-q", "a_transfer_moves_what_is_there"];
    workspace.chess(&filter).run().assert_code(0);
    let timed = (0..STARTS).map(|_| {
        let start = Instant::now();
        workspace.chess(&filter).run().assert_code(0);
        start.elapsed()
    });
    timed.collect()
}

fn report(times: &[Duration], target: Duration) -> String {
    let Some(spread) = Spread::of(times.iter().map(Duration::as_secs_f64)) else {
        return "not measured".to_owned();
    };
    let met = if spread.median < target.as_secs_f64() {
        "met"
    } else {
        "missed"
    };
    format!(
        "{:.2} s ({:.2} to {:.2}), below {} s hoped for: {met}",
        spread.median,
        spread.least,
        spread.greatest,
        target.as_secs_f64()
    )
}
