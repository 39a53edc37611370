//! What `cargo package` packs builds by itself, and works outside of this repository.

use std::fs;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Chess, Workspace};

/// All dependencies are built anew.
const PATIENCE: Duration = Duration::from_mins(30);

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn the_packed_crates_build_and_the_tool_of_them_works_elsewhere() {
    let place = Workspace::kept("package", |_| {});
    let args = ["package", "-p", "chess_rewriter", "-p", "cargo-chess"];
    let run = Chess::cargo(Path::new(REPOSITORY), &args)
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
