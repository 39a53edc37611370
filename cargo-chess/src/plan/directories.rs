//! The directories of the tool's files, and the place of the instrumented build among them.
//!
//! All files are in `chess`, below cargo's target directory. `chess/build` has a target directory
//! for each runtime, compiler and wrapper, into which cargo builds the tests.

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;

use crate::digest;
use crate::error::{Error, Result};

/// Cargo's target directory of the workspace, or the one that `--target-dir` names.
pub(super) fn target_dir(named: Option<&Utf8Path>, metadata: &Metadata) -> Result<Utf8PathBuf> {
    match named {
        Some(dir) => camino::absolute_utf8(dir).map_err(Error::io("find", dir)),
        None => Ok(metadata.target_directory.clone()),
    }
}

/// The directory of all files of this tool.
pub(super) fn chess_dir(target_dir: &Utf8Path) -> Utf8PathBuf {
    target_dir.join("chess")
}

/// The target directory of builds against the runtime with the key `runtime_key`, by the wrapper
/// with the digest `wrapper_digest`. Each wrapper and each runtime needs its own directory, and so
/// do instrumented builds: cargo does not know the arguments that the wrapper adds, so it would
/// reuse the products of other builds.
pub(crate) fn build_dir(
    chess_dir: &Utf8Path,
    runtime_key: &str,
    wrapper_digest: &str,
    is_instrumented: bool,
) -> Utf8PathBuf {
    let wrapper = digest::short(wrapper_digest.as_bytes(), 4);
    let suffix = if is_instrumented { "-instrumented" } else { "" };
    let name = format!("{runtime_key}-{wrapper}{suffix}");
    chess_dir.join("build").join(name)
}

/// The variables with which cargo builds into `build_dir`.
pub(crate) fn build_variables(build_dir: &Utf8Path) -> [(&'static str, &Utf8Path); 2] {
    [
        ("CARGO_TARGET_DIR", build_dir),
        // Without this variable, a configured build directory would mix these builds with the
        // user's own.
        ("CARGO_BUILD_BUILD_DIR", build_dir),
    ]
}
