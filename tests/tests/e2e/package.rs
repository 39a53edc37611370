//! The archives of `cargo package` contain all that a build needs, and the tool that is built from
//! them works outside of this repository.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use end_to_end::{Chess, Workspace, target_dir};

/// The time limit. If the tests were built in another profile, all dependencies are built again.
const PATIENCE: Duration = Duration::from_mins(30);

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const CRATES: [&str; 3] = ["chess_rewriter", "chess_vocabulary", "cargo-chess"];

#[test]
fn the_packed_crates_build_and_the_tool_of_them_works_elsewhere() {
    let place = Workspace::kept("package", |_| {});
    let packed = CRATES.iter().flat_map(|it| ["-p", it]);
    Chess::cargo(Path::new(REPOSITORY), &["package", "--no-verify"])
        .arg("--allow-dirty")
        .args(packed)
        .arg("--target-dir")
        .arg(place.root())
        .run()
        .assert_code(0);
    let sources = tempfile::tempdir().expect("a directory outside of the repository");
    for name in CRATES {
        unpack(
            &place.root().join(format!("package/{name}-{VERSION}.crate")),
            sources.path(),
        );
    }
    let source = |name: &str| sources.path().join(format!("{name}-{VERSION}"));
    let replaced = CRATES[..2].iter().flat_map(|name| {
        let path = source(name);
        let option = format!(
            "patch.crates-io.{name}.path={:?}",
            path.display().to_string()
        );
        ["--config".to_owned(), option]
    });
    Chess::cargo(sources.path(), &["build", "--manifest-path"])
        .arg(source("cargo-chess").join("Cargo.toml"))
        .args(replaced)
        // The profile of the workspace, and its directory of artifacts: then cargo finds most
        // dependencies there.
        .arg("--config")
        .arg(Path::new(REPOSITORY).join("Cargo.toml"))
        .env("CARGO_BUILD_BUILD_DIR", target_dir())
        .arg("--target-dir")
        .arg(place.root())
        .start()
        .finish(PATIENCE)
        .assert_code(0);
    // The tool must work without the sources from which it was built.
    drop(sources);
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

/// Unpacks an archive of `cargo package` into a directory.
fn unpack(archive: &Path, directory: &Path) {
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(directory)
        .status();
    assert!(status.expect("tar runs").success(), "{}", archive.display());
}
