//! Programs that not every machine has, without which some tests are skipped.
//!
//! libtest cannot skip a test that has begun, so that it counts as passed. Each is said on standard
//! error, past libtest's capture, and is noted in a file: the last test binary,
//! `z_skipped`, says how many there were.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use crate::tool::build_dirs;

/// With this variable, a program that is missing is a failure.
const NEED_ALL: &str = "CHESS_TESTS_NEED_ALL";

/// Whether the running test can go on, since these commands work; without one of them it
/// is skipped.
///
/// # Panics
/// If one is missing, and the variable `CHESS_TESTS_NEED_ALL` says that none may be.
pub fn needs(commands: &[&str]) -> bool {
    goes_on(commands, env::var_os(NEED_ALL).is_some())
}

/// As [`needs`], for what `.ci/run` does not install: it may be missing anywhere.
pub fn wants(command: &str) -> bool {
    goes_on(&[command], false)
}

fn goes_on(commands: &[&str], is_needed: bool) -> bool {
    let missing: Vec<&str> = commands.iter().copied().filter(|it| !works(it)).collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(" and ");
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test").to_owned();
    let why = format!("this machine has no {missing}");
    assert!(!is_needed, "{why}, which {test} needs");
    let line = format!("skipped: {test}: {why}\n");
    // Nothing is lost where standard error is gone.
    let _ = io::stderr().write_all(line.as_bytes());
    let file = File::options().append(true).create(true).open(file());
    let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    noted.expect("the target directory can be written");
    false
}

/// The tests that this call of cargo has skipped so far, a line each. They are forgotten.
pub fn take_skipped() -> Vec<String> {
    let text = fs::read_to_string(file()).unwrap_or_default();
    // It may not be there.
    let _ = fs::remove_file(file());
    text.lines().map(str::to_owned).collect()
}

/// Cargo starts all test binaries: its process id tells its calls apart.
fn file() -> PathBuf {
    let name = format!("skipped-{}", parent_id());
    build_dirs().target.join(name)
}

/// Whether a command says its version.
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
