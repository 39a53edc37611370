//! Checks whether a test binary has debug information for the program's lines.
//!
//! If the information is missing, the error describes how to build a binary that has it.

use std::fs;

use crate::build::TestBinary;
use crate::cli::BuildArgs;
use crate::error::{Error, Result};

/// Fails if `binary`, which was built with `args`, has no debug information for the user's lines.
/// Without this information, the debugger `program` would show neither the test's lines nor its
/// preemptions.
pub(super) fn check(binary: &TestBinary, args: &BuildArgs, program: &str) -> Result<()> {
    let bytes = fs::read(&binary.path).map_err(Error::io("read", &binary.path))?;
    let is_stripped = !sections(&bytes).any(|name| name.ends_with(b"debug_info"));
    if binary.has_debug_info && !is_stripped {
        return Ok(());
    }
    let profile = profile(args);
    let variable = profile.to_uppercase().replace('-', "_");
    let why = if binary.has_debug_info {
        "the binary was stripped"
    } else {
        "the profile builds none"
    };
    Err(Error::Unsupported(format!(
        "{} has no debug information ({why}), so {program} would show neither the test's lines nor its \
         preemptions.\n\
         For this replay, set CARGO_PROFILE_{variable}_DEBUG=true and CARGO_PROFILE_{variable}_STRIP=none; \
         permanently, set `debug = true` and `strip = \"none\"` below [profile.{profile}] in Cargo.toml.",
        binary.id
    )))
}

/// The profile of Cargo.toml that `args` select.
fn profile(args: &BuildArgs) -> &str {
    match &args.cargo_profile {
        Some(name) => name,
        None if args.release => "release",
        // The profile for tests inherits from this one.
        None => "dev",
    }
}

/// The names of the sections of an ELF executable. A file in another format has none.
fn sections(elf: &[u8]) -> impl Iterator<Item = &[u8]> {
    const SECTIONS: usize = 0x28;
    const SIZE: usize = 0x3a;
    const COUNT: usize = 0x3c;
    const NAMES: usize = 0x3e;
    const OFFSET_IN_FILE: usize = 0x18;
    let header = |at: usize| {
        let first = number(elf, SECTIONS, 8)?;
        let at = first.checked_add(at.checked_mul(number(elf, SIZE, 2)?)?)?;
        elf.get(at..)
    };
    let names = number(elf, NAMES, 2)
        .and_then(header)
        .and_then(|names| elf.get(number(names, OFFSET_IN_FILE, 8)?..));
    let is_elf = elf.starts_with(b"\x7fELF");
    let count = number(elf, COUNT, 2).filter(|_| is_elf).unwrap_or(0);
    (0..count).filter_map(move |index| {
        let name = names?.get(number(header(index)?, 0, 4)?..)?;
        name.split(|byte| *byte == 0).next()
    })
}

/// The little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    let number = bytes
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte));
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_of_an_executable_have_their_names() {
        let own = std::env::current_exe().expect("this test's executable");
        let own = fs::read(own).expect("readable");
        let names: Vec<&[u8]> = sections(&own).collect();
        assert!(names.contains(&b".text".as_slice()));
        assert!(names.contains(&b".debug_info".as_slice()));
        assert_eq!(sections(b"#!/bin/sh\n").count(), 0);
        // A file that ends before the table of sections has no sections: the table is at the end.
        assert_eq!(sections(&own[..4096]).count(), 0);
    }

    #[test]
    fn the_profile_is_that_of_cargos_flags() {
        let of = |release, name: Option<&str>| {
            let args = BuildArgs {
                release,
                cargo_profile: name.map(str::to_owned),
                ..BuildArgs::default()
            };
            profile(&args).to_owned()
        };
        assert_eq!(of(false, None), "dev");
        assert_eq!(of(true, None), "release");
        assert_eq!(of(false, Some("bench-long")), "bench-long");
    }
}
