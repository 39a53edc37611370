//! The executables that were built, as `cargo test --no-run` prints them.

use camino::Utf8PathBuf;

use super::{Build, TestBinary, binary_id};
use crate::plan::Plan;
use crate::shell::Shell;

/// Prints a line for each executable.
pub(crate) fn print_executables(plan: &Plan, build: &Build, shell: Shell) {
    let here = std::env::current_dir().ok();
    let here = here.and_then(|here| Utf8PathBuf::try_from(here).ok());
    for binary in &build.binaries {
        let below = here
            .as_ref()
            .and_then(|it| binary.path.strip_prefix(it).ok());
        let path = below.unwrap_or(&binary.path);
        shell.status("Executable", format!("{} ({path})", source(plan, binary)));
    }
}

/// The source of a test binary in cargo's form: `tests/t.rs`, `unittests src/lib.rs`.
fn source(plan: &Plan, binary: &TestBinary) -> String {
    for package in plan.metadata.workspace_packages() {
        let mut targets = package.targets.iter();
        let Some(target) = targets.find(|it| binary_id(&package.name, it) == binary.id) else {
            continue;
        };
        let path = &target.src_path;
        let path = path.strip_prefix(&binary.package_root).unwrap_or(path);
        return if target.is_test() || target.is_bench() {
            path.to_string()
        } else {
            format!("unittests {path}")
        };
    }
    binary.id.clone()
}
