//! This program as cargo's `RUSTC_WRAPPER`: puts the facades where `std`, `core`, `alloc` and `test` were.
//!
//! It runs once for each rustc that cargo starts, so it only looks at its
//! arguments and becomes that rustc.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Names the directory of the built facades; that it is set makes this program the wrapper.
pub const FACADES_VARIABLE: &str = "CHESS_WRAPPER_FACADES";

/// Names the wrapper that the user had set, to be run in front of rustc.
pub const NEXT_VARIABLE: &str = "CHESS_WRAPPER_NEXT";

/// Names the packages, separated by commas, that are compiled as they are.
pub const OPAQUE_VARIABLE: &str = "CHESS_WRAPPER_OPAQUE";

/// What is put in the place of what; `noprelude` because crates may say
/// `extern crate std as alloc`, which a name of the extern prelude forbids.
const SWAPS: &[(&str, &str, &str)] = &[
    ("std", "std", "libchess_std.rlib"),
    ("core", "core", "libchess_core.rlib"),
    ("alloc", "noprelude:alloc", "libchess_alloc.rlib"),
    ("test", "noprelude:test", "libchess_test.rlib"),
];

/// How a unit is compiled.
#[derive(PartialEq, Eq, Debug)]
enum Treatment {
    /// As cargo asks.
    Plain,
    /// As cargo asks; but its dependencies' facades must be found.
    Opaque,
    /// Against the facades.
    Swapped,
}

/// Becomes the wrapped rustc, if this process was started as a wrapper.
///
/// Returns the error of starting it, or `None` if this is an ordinary start.
pub fn run(args: &[OsString]) -> Option<std::io::Error> {
    let facades = env::var_os(FACADES_VARIABLE)?;
    let (rustc, args) = args.get(1..)?.split_first()?;
    let opaque = env::var_os(OPAQUE_VARIABLE).unwrap_or_default();
    let package = env::var_os("CARGO_PKG_NAME").unwrap_or_default();

    let mut command = match env::var_os(NEXT_VARIABLE) {
        Some(next) => {
            let mut command = Command::new(next);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    command.args(args);
    match treatment(args, &package, &opaque) {
        Treatment::Plain => {}
        Treatment::Opaque => {
            command.args(search_path(&facades));
        }
        Treatment::Swapped => {
            command.args(swap_args(&facades, args));
            command.env("RUSTC_BOOTSTRAP", "1");
        }
    }
    Some(command.exec())
}

/// Whether these arguments compile something for the tests.
///
/// Build scripts, procedural macros and what they depend on have no `--target`;
/// the probes that build scripts make have no `metadata`, for cargo did not ask for them.
fn treatment(args: &[OsString], package: &OsStr, opaque: &OsStr) -> Treatment {
    let mut has_target = false;
    let mut has_metadata = false;
    for arg in args {
        let arg = arg.as_bytes();
        has_target |= arg == b"--target" || arg.starts_with(b"--target=");
        has_metadata |= arg.starts_with(b"metadata=") || arg.starts_with(b"-Cmetadata=");
    }
    if !(has_target && has_metadata) {
        return Treatment::Plain;
    }
    let is_opaque = !package.is_empty()
        && opaque
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|name| name == package.as_bytes());
    if is_opaque {
        Treatment::Opaque
    } else {
        Treatment::Swapped
    }
}

/// The arguments that swap, for a rustc that was also given `args` and runs with `RUSTC_BOOTSTRAP=1`.
pub(crate) fn swap_args(facades: &OsStr, args: &[OsString]) -> Vec<OsString> {
    let mut added = vec![OsString::from("-Zunstable-options")];
    // Cargo caps registry packages itself. For the others, a warning of theirs
    // must stay a warning, whatever our stand-ins make of `deny(warnings)`.
    if !args
        .iter()
        .any(|arg| arg.as_bytes().starts_with(b"--cap-lints"))
    {
        added.push("--cap-lints=warn".into());
    }
    for (name, spelling, file) in SWAPS {
        if !has_extern(args, name) {
            let mut value = OsString::from(format!("{spelling}="));
            value.push(Path::new(facades).join(file));
            added.push("--extern".into());
            added.push(value);
        }
    }
    added.extend(search_path(facades));
    added
}

fn search_path(facades: &OsStr) -> [OsString; 2] {
    let mut value = OsString::from("dependency=");
    value.push(facades);
    ["-L".into(), value]
}

/// Whether cargo itself names a crate `name`, as for a package called `alloc`.
fn has_extern(args: &[OsString], name: &str) -> bool {
    args.windows(2).any(|pair| {
        let value = pair[1].as_bytes();
        let value = value.strip_prefix(b"noprelude:").unwrap_or(value);
        pair[0] == "--extern"
            && value
                .strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn treat(line: &str) -> Treatment {
        treatment(&args(line), OsStr::new("bank"), OsStr::new("log,metrics"))
    }

    #[test]
    fn units_for_the_target_are_swapped_in_both_spellings() {
        assert_eq!(
            treat("--crate-name bank src/lib.rs --target x86_64-unknown-linux-gnu -C metadata=1"),
            Treatment::Swapped
        );
        assert_eq!(
            treat("src/lib.rs --target=x86_64-unknown-linux-gnu -Cmetadata=1"),
            Treatment::Swapped
        );
    }

    #[test]
    fn build_scripts_and_procedural_macros_stay_as_they_are() {
        assert_eq!(
            treat("--crate-name build_script_build build.rs -C metadata=1"),
            Treatment::Plain
        );
    }

    #[test]
    fn probes_of_build_scripts_stay_as_they_are() {
        assert_eq!(
            treat(
                "--edition=2021 --emit=dep-info,metadata probe.rs --target x86_64-unknown-linux-gnu"
            ),
            Treatment::Plain
        );
        assert_eq!(treat("-vV"), Treatment::Plain);
    }

    #[test]
    fn opaque_packages_only_find_the_facades_of_their_dependencies() {
        let line = args("src/lib.rs --target x -C metadata=1");
        assert_eq!(
            treatment(&line, OsStr::new("metrics"), OsStr::new("log,metrics")),
            Treatment::Opaque
        );
        assert_eq!(
            treatment(&line, OsStr::new("met"), OsStr::new("log,metrics")),
            Treatment::Swapped
        );
        assert_eq!(
            treatment(&line, OsStr::new(""), OsStr::new("")),
            Treatment::Swapped
        );
    }

    #[test]
    fn a_swap_names_each_facade_and_where_to_find_the_runtime() {
        let added = swap_args(OsStr::new("/cache/k"), &args("--cap-lints allow"));
        let added: Vec<_> = added.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(
            added.join(" "),
            "-Zunstable-options --extern std=/cache/k/libchess_std.rlib \
             --extern core=/cache/k/libchess_core.rlib \
             --extern noprelude:alloc=/cache/k/libchess_alloc.rlib \
             --extern noprelude:test=/cache/k/libchess_test.rlib -L dependency=/cache/k"
        );
    }

    #[test]
    fn a_package_of_the_same_name_is_not_replaced() {
        let added = swap_args(
            OsStr::new("/k"),
            &args("--extern alloc=liballoc-1.rlib --extern core_graphics=x --extern noprelude:std"),
        );
        let added: Vec<_> = added.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert!(!added.iter().any(|arg| arg.contains("alloc=")));
        assert!(!added.iter().any(|arg| arg.starts_with("std=")));
        assert!(added.iter().any(|arg| arg.starts_with("core=")));
        assert!(added.contains(&"--cap-lints=warn"));
    }
}
