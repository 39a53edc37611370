//! This program as the linker of test binaries. It adds stubs, which announce to the engine the
//! calls from Rust into C.

mod archive;
mod dead_reads;
mod elf;
mod hook_calls;
mod inputs;
mod places;
mod source_lines;
mod stubs;

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::process::{Command, exit};

/// The variable with the path of the linker. If it is set, this program acts as a linker: it calls
/// that linker, with the stubs added.
pub(crate) const LINKER_VARIABLE: &str = "CHESS_LINKER";

/// If this variable is set, a table with the places of the program's accesses to memory is
/// appended to the linked program.
pub(crate) const PLACES_VARIABLE: &str = "CHESS_LINKER_PLACES";

/// The variable with the path of a file. If the program is linked without its stubs or its table
/// of places, a sentence about this is added to the file.
pub(crate) const FAILURE_VARIABLE: &str = "CHESS_LINKER_FAILURE";

/// The sentence on a program that is linked without stubs.
pub(crate) const NO_STUBS: &str = "is linked without stubs for its C functions, so the scheduler does \
     not see the calls of these functions";

/// Links and exits, if this process was started as a linker. Returns `None` if it was not, and an
/// error if the linker could not run.
pub(crate) fn run(args: &[OsString]) -> Option<io::Error> {
    let linker = env::var_os(LINKER_VARIABLE)?;
    match link(&linker, args.get(1..)?) {
        Ok(code) => exit(code),
        Err(error) => Some(error),
    }
}

fn link(linker: &OsStr, args: &[OsString]) -> io::Result<i32> {
    let words = inputs::words(args);
    let is_program = !words.iter().any(|word| matches!(&**word, "-shared" | "-r"));
    let code = link_with_stubs(linker, args, &words, is_program)?;
    if code == 0
        && is_program
        && env::var_os(PLACES_VARIABLE).is_some()
        && let Some(program) = inputs::output(&words)
    {
        let appended = places::append(&program);
        if let Err(error) = appended {
            add_failure(&format!(
                "is linked without the table of its loads and stores, so these are not watched for \
                 races: {error}"
            ))?;
        }
    }
    Ok(code)
}

/// Reports that the linked program lacks a part.
fn add_failure(sentence: &str) -> io::Result<()> {
    let Some(file) = env::var_os(FAILURE_VARIABLE) else {
        return Ok(());
    };
    let mut file = File::options().create(true).append(true).open(file)?;
    writeln!(file, "{sentence}")
}

fn link_with_stubs(
    linker: &OsStr,
    args: &[OsString],
    words: &[String],
    is_program: bool,
) -> io::Result<i32> {
    let functions = if is_program {
        let is_watched = env::var_os(PLACES_VARIABLE).is_some();
        stubs::foreign_functions(words, is_watched)?
    } else {
        BTreeSet::new()
    };
    if !functions.is_empty() {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("stubs.s");
        fs::write(&file, stubs::assembly(&functions))?;
        let wraps = functions.iter().map(|name| format!("-Wl,--wrap={name}"));
        let output = Command::new(linker)
            .arg(&file)
            .args(args)
            .args(wraps)
            .output()?;
        if output.status.success() {
            return Ok(0);
        }
    }
    let status = Command::new(linker).args(args).status()?;
    if status.success() && !functions.is_empty() {
        add_failure(NO_STUBS)?;
    }
    Ok(status.code().unwrap_or(1))
}

#[cfg(test)]
mod tests;
