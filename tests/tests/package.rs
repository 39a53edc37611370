//! What `cargo package` packs builds by itself, and works outside of this repository.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use end_to_end::{Chess, Workspace};

/// All dependencies are built anew.
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
        .arg("--allow-dirty")
        .arg("--target-dir")
        .arg(place.root())
        .start()
        .finish(PATIENCE);
    run.assert_code(0);
    // The program needs nothing of what it was built from.
    fs::remove_dir_all(place.root().join("package")).expect("cargo has unpacked them there");
    let elsewhere = tempfile::tempdir().expect("a directory outside of the repository");
    let run = Chess::in_shell(elsewhere.path(), "exec \"$@\"")
        .arg("sh")
        .arg(place.root().join("debug/cargo-chess"))
        .arg("demo")
        // Where no runtime was built before.
        .env("CHESS_CACHE_DIR", elsewhere.path().join("cache"))
        .run();
    run.assert_code(0);
    assert!(run.stderr.contains("runtime"), "it was built: {run:?}");
}

/// A home of cargo that has what the usual one has downloaded, but nothing that is unpacked.
///
/// `cargo package` builds the tool with the rewriter that it has just packed. It unpacks
/// that into its home only if no crate of the same name and version lies there: an older
/// rewriter in the usual home would be built instead.
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

/// Links every entry of `from` but `except` into `to`. No entries, no links, if `from` does
/// not exist.
fn link_entries(from: &Path, to: &Path, except: &str) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.expect("the directory can be read");
        if entry.file_name() != except {
            symlink(entry.path(), to.join(entry.file_name())).expect("a link can be made");
        }
    }
}
