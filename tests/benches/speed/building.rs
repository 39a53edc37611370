//! The time that cargo chess adds to the building of a project with ordinary dependencies.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;

/// The highest ratio to the time of cargo alone that is the goal.
const RATIO: f64 = 1.3;

/// Builds `fixtures/building` from scratch with cargo and with cargo chess.
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

/// Returns the number of packages in the build, the project's own included.
fn packages(workspace: &Workspace) -> usize {
    let run = Chess::cargo(workspace.root(), &["tree", "--locked", "--prefix", "none"]).run();
    run.assert_code(0);
    // The rest of the line has the path of the package, or a note that it was listed before.
    let names = run.stdout.lines().map(|line| line.split(" (").next());
    names.collect::<BTreeSet<_>>().len()
}

/// Builds the runtime, which happens once for each toolchain, and so is not a cost of a project.
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

/// A call that also runs the only test, which takes almost no time.
fn by_chess(workspace: &Workspace, target: &Path) -> Chess {
    workspace
        .chess(&["chess", "test", "-q", "--locked"])
        .arg("--target-dir")
        .arg(target)
}
