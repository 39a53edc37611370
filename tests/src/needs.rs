//! Programs and privileges that some tests need and that not every machine has.
//!
//! libtest cannot skip a running test, so a skipped test counts as passed. Each skipped test is
//! printed on standard error, bypassing the capture of libtest, and recorded in a file. The last
//! test binary, `skipped`, prints the number of skipped tests.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use crate::tool::build_dirs;

/// The variable that makes a missing program a failure.
const NEED_ALL: &str = "CHESS_TESTS_NEED_ALL";

/// Returns whether all of these commands work. If not, reports that the running test is skipped:
/// the caller must return.
///
/// # Panics
/// If a command is missing while the variable `CHESS_TESTS_NEED_ALL` is set.
pub fn needs(commands: &[&str]) -> bool {
    can_run(commands, env::var_os(NEED_ALL).is_some())
}

/// Like [`needs`], for a program that `.ci/run` does not install. Never panics, because such a
/// program may be missing on any machine.
pub fn wants(command: &str) -> bool {
    can_run(&[command], false)
}

/// Returns whether this process has the privileges of the superuser. If not, reports that the
/// running test is skipped: the caller must return.
///
/// # Panics
/// If the file with the skipped tests cannot be written.
pub fn wants_privileges() -> bool {
    let has_them = rustix::process::geteuid().is_root();
    if !has_them {
        record_skipped(&running_test(), "this user is not the superuser");
    }
    has_them
}

fn can_run(commands: &[&str], is_needed: bool) -> bool {
    let missing: Vec<&str> = commands.iter().copied().filter(|it| !works(it)).collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(" and ");
    let test = running_test();
    let why = format!("this machine has no {missing}");
    assert!(!is_needed, "{why}, which {test} needs");
    record_skipped(&test, &why);
    false
}

fn running_test() -> String {
    let thread = thread::current();
    thread.name().unwrap_or("a test").to_owned()
}

fn record_skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    // The test can continue if standard error is closed.
    let _ = io::stderr().write_all(line.as_bytes());
    let file = File::options().append(true).create(true).open(file());
    let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    noted.expect("the target directory can be written");
}

/// Returns a line for each test that was skipped so far during this call of cargo, and clears the
/// list.
pub fn take_skipped() -> Vec<String> {
    let text = fs::read_to_string(file()).unwrap_or_default();
    // The file may not exist.
    let _ = fs::remove_file(file());
    text.lines().map(str::to_owned).collect()
}

/// Returns the file with the skipped tests of this call of cargo. Cargo starts all test binaries,
/// so that its process id identifies the call.
fn file() -> PathBuf {
    let name = format!("skipped-{}", parent_id());
    build_dirs().target.join(name)
}

/// Whether a command prints its version.
pub(crate) fn works(command: &str) -> bool {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let mut version = Command::new(program);
    version.args(words).arg("--version");
    version
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}
