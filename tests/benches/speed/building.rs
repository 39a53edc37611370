//! The time that cargo chess adds to the build of a project with ordinary dependencies. Also, the
//! part of this time, and of the size of the binary, that is due to the watch of all accesses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::{Chess, Workspace};
use object::{Object, ObjectSegment};

use crate::processor::time_of_children;

/// The goal: the highest ratio of the build time of cargo chess to that of cargo alone.
const RATIO: f64 = 1.3;
/// The goal: the highest ratio of the build time with the watch of accesses to the time without
/// it.
const RATIO_OF_WATCH: f64 = 1.1;
/// The goal: the highest ratio of the size of a binary with the watch of accesses to the size
/// without it.
const RATIO_OF_SIZES: f64 = 1.3;

/// Builds `fixtures/building` from scratch with cargo, and with cargo chess with and without the
/// watch of accesses.
pub(crate) fn print() {
    let workspace = &Workspace::shared("building");
    build_runtime();
    let plain = time(workspace, plainly);
    let ignoring = time(workspace, |workspace, target| {
        by_chess(workspace, target).arg("--memory-accesses=ignore")
    });
    let watching = time(workspace, by_chess);
    println!(
        "\nbuilding {} packages (axum, reqwest, tokio, rayon, moka and others) for tests: {:.1} s of \
         processor time plainly, {:.1} s by cargo chess, {:.1} s with accesses ignored",
        packages(workspace),
        plain,
        watching,
        ignoring
    );
    ratio("cargo chess to cargo", watching / plain, RATIO);
    ratio(
        "accesses watched to ignored",
        watching / ignoring,
        RATIO_OF_WATCH,
    );
    let executors = &Workspace::shared("executors");
    let [ignoring, watching] = ["ignore", "watch"].map(|accesses| size(executors, accesses));
    println!(
        "the code and data of a test of tokio have {watching:.2} MiB, {ignoring:.2} MiB with \
         accesses ignored"
    );
    ratio(
        "accesses watched to ignored",
        watching / ignoring,
        RATIO_OF_SIZES,
    );
}

fn ratio(name: &str, ratio: f64, goal: f64) {
    let met = if ratio <= goal { "met" } else { "missed" };
    println!("  {name}: {ratio:.2}x, at most {goal}x hoped for: {met}");
}

/// Returns the processor time of a build from scratch, in seconds.
fn time(workspace: &Workspace, build: impl Fn(&Workspace, &Path) -> Chess) -> f64 {
    let target = Workspace::empty();
    let before = time_of_children();
    build(workspace, target.root()).run().assert_code(0);
    time_of_children().saturating_sub(before).as_secs_f64()
}

/// Returns the size in MiB of the loaded segments of a test binary of tokio. These segments
/// contain no debug information.
fn size(executors: &Workspace, accesses: &str) -> f64 {
    let target = Workspace::empty();
    let arguments = [
        "chess", "test", "-q", "--locked", "--no-run", "--test", "tokio",
    ];
    executors
        .chess(&arguments)
        .arg("--memory-accesses")
        .arg(accesses)
        .arg("--target-dir")
        .arg(target.root())
        .run()
        .assert_code(0);
    let binary = binary_below(target.root()).expect("a test binary");
    let content = fs::read(&binary).expect("the test binary");
    let file = object::File::parse(&*content).expect("an ELF file");
    let bytes: u64 = file.segments().map(|segment| segment.size()).sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = bytes as f64;
    bytes / f64::from(1 << 20)
}

/// Returns the executable of the test `tokio` in a directory of builds.
fn binary_below(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return binary_below(&path);
        }
        let name = path.file_name()?.to_str()?;
        let is_it = name.starts_with("tokio-") && !name.contains('.');
        is_it.then_some(path)
    })
}

/// Returns the number of packages in the build, the project's own included.
fn packages(workspace: &Workspace) -> usize {
    let run = Chess::cargo(workspace.root(), &["tree", "--locked", "--prefix", "none"]).run();
    run.assert_code(0);
    // The rest of the line has the path of the package, or a note that it was listed before.
    let names = run.stdout.lines().map(|line| line.split(" (").next());
    names.collect::<BTreeSet<_>>().len()
}

/// Builds the runtime. This happens once for each toolchain, so its time is not a part of the
/// build time of a project.
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
