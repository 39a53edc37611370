//! What cargo chess adds to the building of a project with ordinary dependencies.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;

/// How much more than cargo alone is hoped for at most.
const RATIO: f64 = 1.3;

/// Builds `fixtures/building` from nothing by cargo and by cargo chess.
pub(crate) fn print() {
    let workspace = &Workspace::shared("building");
    build_runtime();
    let [plain, chess] = [plainly, by_chess].map(|build| {
        let target = Workspace::empty();
        let before = time_of_children();
        build(workspace, target.root()).run().assert_code(0);
        time_of_children().saturating_sub(before)
    });
    let seconds = Duration::as_secs_f64;
    let ratio = seconds(&chess) / seconds(&plain);
    let met = if ratio <= RATIO { "met" } else { "missed" };
    println!(
        "\nbuilding {} packages (axum, reqwest, tokio, rayon, moka and others) for tests: {:.1} s of \
         processor time plainly, {:.1} s by cargo chess: {ratio:.2}x, at most {RATIO}x hoped for: {met}",
        packages(workspace),
        seconds(&plain),
        seconds(&chess)
    );
}

/// How many packages are built, the project's own included.
fn packages(workspace: &Workspace) -> usize {
    let run = Chess::cargo(workspace.root(), &["tree", "--locked", "--prefix", "none"]).run();
    run.assert_code(0);
    // What follows says where it lies, or that it was listed before.
    let names = run.stdout.lines().map(|line| line.split(" (").next());
    names.collect::<BTreeSet<_>>().len()
}

/// It is built once for each toolchain, and so no part of a project's cost.
fn build_runtime() {
    let workspace = Workspace::with_library("#[test]\nfn nothing() {}\n");
    workspace
        .chess(&["chess", "test", "-q"])
        .run()
        .assert_code(0);
}

fn plainly(workspace: &Workspace, target: &Path) -> Chess {
    let arguments = ["test", "-q", "--locked", "--no-run"];
    Chess::cargo(workspace.root(), &arguments)
        .arg("--target-dir")
        .arg(target)
}

/// Runs the one test as well, which is next to nothing.
fn by_chess(workspace: &Workspace, target: &Path) -> Chess {
    workspace
        .chess(&["chess", "test", "-q", "--locked"])
        .arg("--target-dir")
        .arg(target)
}
