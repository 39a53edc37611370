//! Links programs with this program as the linker, which inserts announcements before calls of C
//! code.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use camino::Utf8PathBuf;

use super::instructions::Instructions;
use super::unit::Unit;
use crate::linker::{FAILURE_VARIABLE, LINKER_VARIABLE, NO_STUBS, PLACES_VARIABLE};

/// Makes `command` use this program as the linker, unless the unit is a library. `args` are the
/// other arguments of rustc.
pub(super) fn announce_foreign_calls(
    command: &mut Command,
    args: &[OsString],
    unit: &Unit,
    instructions: &Instructions,
) {
    if unit.is_library {
        return;
    }
    let linker = linker(args).unwrap_or_else(|| "cc".into());
    let Ok(own) = env::current_exe() else { return };
    let failure = failure_file(unit, instructions);
    _ = fs::create_dir_all(&instructions.records);
    if !is_compiler(&linker) {
        _ = fs::write(failure, NO_STUBS);
        return;
    }
    _ = fs::remove_file(&failure);
    let mut option = OsString::from("linker=");
    option.push(own);
    command
        .arg("-C")
        .arg(option)
        .env(LINKER_VARIABLE, linker)
        .env(FAILURE_VARIABLE, failure);
    if instructions.instruments {
        command.env(PLACES_VARIABLE, "1");
    }
}

/// The warnings about stubs and tables that the linked program lacks.
pub(super) fn failures(unit: &Unit, instructions: &Instructions) -> Vec<String> {
    let file = failure_file(unit, instructions);
    let sentences = fs::read_to_string(&file).unwrap_or_default();
    _ = fs::remove_file(file);
    let sentences = sentences.lines();
    sentences
        .map(|sentence| format!("{} {sentence}", unit.crate_name))
        .collect()
}

/// Whether the linker accepts a C compiler's arguments. Like rustc, this function decides by the
/// linker's name.
fn is_compiler(linker: &OsStr) -> bool {
    let stem = Path::new(linker).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    !stem.ends_with("ld") && !stem.ends_with("link")
}

fn failure_file(unit: &Unit, instructions: &Instructions) -> Utf8PathBuf {
    let name = format!("{}{}.linked-plainly", unit.crate_name, unit.extra);
    instructions.records.join(name)
}

/// The linker in rustc's arguments. The last one counts.
fn linker(args: &[OsString]) -> Option<OsString> {
    let mut values = args.iter().enumerate().filter_map(|(at, arg)| {
        let arg = arg.as_bytes();
        let option = match arg.strip_prefix(b"-C")? {
            b"" => args.get(at + 1)?.as_bytes(),
            option => option,
        };
        let linker = option.strip_prefix(b"linker=")?;
        Some(OsStr::from_bytes(linker).to_owned())
    });
    values.next_back()
}
