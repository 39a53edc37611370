//! The archives of `cargo package` build by themselves, and work outside of this repository.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use end_to_end::{Chess, Workspace};

/// The time limit. All dependencies are built again.
const PATIENCE: Duration = Duration::from_mins(30);

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn the_packed_crates_build_and_the_tool_of_them_works_elsewhere() {
    let place = Workspace::kept("package", |_| {});
    let crates = ["chess_rewriter", "chess_vocabulary", "cargo-chess"];
    let args: Vec<&str> = ["package"]
        .into_iter()
        .chain(crates.iter().flat_map(|it| ["-p", it]))
        .collect();
    let home = cargo_home_without_sources();
    let run = Chess::cargo(Path::new(REPOSITORY), &args)
        .env("CARGO_HOME", home.path())
        // Debug information would take a third of the time of the build.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .arg("--allow-dirty")
        .arg("--target-dir")
        .arg(place.root())
        .start()
        .finish(PATIENCE);
    run.assert_code(0);
    // The tool must work without the sources from which it was built.
    fs::remove_dir_all(place.root().join("package")).expect("cargo has unpacked them there");
    let elsewhere = tempfile::tempdir().expect("a directory outside of the repository");
    Chess::new(elsewhere.path(), &["demo"]).run().assert_code(0);
    let run = Chess::in_shell(elsewhere.path(), "exec \"$@\"")
        .arg("sh")
        .arg(place.root().join("debug/cargo-chess"))
        .arg("demo")
        .run();
    run.assert_code(0);
    // The tool of the repository has built the runtime before. The packed sources are the same, so
    // that the packed tool finds this runtime in the cache.
    let builds = run.stderr.contains("Building the runtime");
    assert!(!builds, "the packed runtime differs: {run:?}");
}

/// Returns a home directory of cargo that has all downloads of the default one, but no unpacked
/// sources.
///
/// `cargo package` builds the tool with the rewriter that it has just packed. But if its home
/// already has sources of the same name and version, cargo does not unpack the rewriter. Then it
/// would build an older rewriter from the default home.
fn cargo_home_without_sources() -> tempfile::TempDir {
    let usual = env::var_os("CARGO_HOME").map_or_else(
        || env::home_dir().expect("there is a home").join(".cargo"),
        PathBuf::from,
    );
    let home = tempfile::tempdir().expect("a directory can be made");
    let registry = home.path().join("registry");
    fs::create_dir(&registry).expect("the directory can be made");
    link_entries(&usual, home.path(), "registry");
    link_entries(&usual.join("registry"), &registry, "src");
    home
}

/// Links every entry of `from` except `except` into `to`. Does nothing if `from` does not exist.
fn link_entries(from: &Path, to: &Path, except: &str) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.expect("the directory can be read");
        if entry.file_name() != except {
            symlink(entry.path(), to.join(entry.file_name())).expect("a link can be made");
        }
    }
}
