//! The arguments that replace `std`, `core`, `alloc` and `test` by the facades.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The replaced crates, their options and the libraries of the facades. Some crates contain
/// `extern crate std as alloc`. This is an error if the extern prelude has the name `alloc`, so
/// the option `noprelude` is needed.
const SWAPS: &[(&str, &str, &str)] = &[
    ("std", "std", "libchess_std.rlib"),
    ("core", "core", "libchess_core.rlib"),
    ("alloc", "noprelude:alloc", "libchess_alloc.rlib"),
    ("test", "noprelude:test", "libchess_test.rlib"),
];

/// The arguments that replace `std`, `core`, `alloc` and `test` by the facades. They are for a
/// rustc that also gets `args` and runs with `RUSTC_BOOTSTRAP=1`.
pub(crate) fn replace_with_facades(facades: &OsStr, args: &[OsString]) -> Vec<OsString> {
    let mut added = vec![OsString::from("-Zunstable-options")];
    // Cargo itself caps the lints of registry packages. In other packages, a warning must stay a
    // warning, even if the facades cause it in code with `deny(warnings)`.
    if !caps_lints(args) {
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

/// The statement that the wrapper inserts at the start of each function of an `opaque` package. So a
/// function announces itself also where it is compiled into another crate, because it is generic or
/// inlined. [`opaque_args`] has no effect there.
pub(super) const ANNOUNCEMENT: &str = r#"{unsafe extern "C"{safe fn mcount();}mcount()};"#;

/// The arguments for a unit that is compiled unchanged, for a rustc that runs with
/// `RUSTC_BOOTSTRAP=1`. The functions of the unit announce themselves by a call of `mcount`, so
/// that a call into them from redirected units can be a scheduling point.
pub(super) fn opaque_args(facades: &OsStr) -> Vec<OsString> {
    let mut added = vec![
        OsString::from("-Zinstrument-mcount"),
        // Without this argument, other crates would run this unit's instances of std's generics,
        // which call `mcount`.
        OsString::from("-Zshare-generics=no"),
    ];
    added.extend(search_path(facades));
    added
}

fn search_path(facades: &OsStr) -> [OsString; 2] {
    let mut value = OsString::from("dependency=");
    value.push(facades);
    ["-L".into(), value]
}

/// Whether the arguments cap lints already.
pub(super) fn caps_lints(args: &[OsString]) -> bool {
    args.iter()
        .any(|arg| arg.as_bytes().starts_with(b"--cap-lints"))
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

    #[test]
    fn a_swap_names_each_facade_and_where_to_find_the_runtime() {
        let added = replace_with_facades(OsStr::new("/cache/k"), &args("--cap-lints allow"));
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
        let added = replace_with_facades(
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
