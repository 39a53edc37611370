//! Checks that this toolchain accepts the facades in place of the standard library.
//!
//! It is not documented that rustc accepts `--extern std=...`. So this is tested for each
//! toolchain before a runtime counts as built.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

use camino::Utf8Path;

use super::versions;
use crate::error::{Error, Result};
use crate::toolchain::Toolchain;
use crate::wrapper;

/// An item added to the root of each facade. The real crates do not have it.
pub(super) const MARK: &str = "\n#[doc(hidden)]\npub const CHESS_FACADE: () = ();\n";

/// A program that compiles only if all four crates are facades. It also uses names of the prelude
/// and of macros.
const CANARY: &str = "\
extern crate alloc as real_alloc;
extern crate std as alloc;
extern crate test;
const _: () = std::CHESS_FACADE;
const _: () = ::std::CHESS_FACADE;
const _: () = core::CHESS_FACADE;
const _: () = real_alloc::CHESS_FACADE;
const _: () = test::CHESS_FACADE;
#[derive(Clone, Debug, PartialEq)]
struct Derived(Vec<String>);
#[test]
fn canary() {
    assert_eq!(Derived(vec![format!(\"{}\", 1)]).clone(), Derived(vec![\"1\".to_string()]));
}
";

/// Compiles the canary in `place` against the facades in `libraries`, with the wrapper's
/// arguments. If it does not compile, the compiler's messages are saved in `chess_dir`.
pub(super) fn check(
    toolchain: &Toolchain,
    place: &Utf8Path,
    libraries: &Utf8Path,
    chess_dir: &Utf8Path,
) -> Result<()> {
    let source = place.join("canary.rs");
    fs::write(&source, CANARY).map_err(Error::io("write", &source))?;
    let args: Vec<OsString> = [
        "--crate-name=chess_canary",
        "--edition=2024",
        "--test",
        "--emit=metadata",
        "--cap-lints=allow",
        "--target",
        toolchain.host(),
        "--out-dir",
        place.as_str(),
        source.as_str(),
    ]
    .map(OsString::from)
    .into();
    let output = Command::new(&toolchain.rustc)
        .args(&args)
        .args(wrapper::replace_with_facades(
            libraries.as_std_path().as_os_str(),
            &args,
        ))
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("compile", &source))?;
    if output.status.success() {
        return Ok(());
    }
    Err(versions::refused(
        toolchain,
        "the compiler does not accept the facades in place of the standard library",
        &String::from_utf8_lossy(&output.stderr),
        chess_dir,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_that_rejects_the_facades_is_refused_with_its_message() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let mut toolchain = Toolchain::find().expect("there is a compiler");
        // This directory has no facades.
        let check = |toolchain: &Toolchain| check(toolchain, place, &place.join("lib"), place);
        let text = check(&toolchain)
            .expect_err("nothing to stand in")
            .to_string();
        assert!(
            text.contains(
                "the compiler does not accept the facades in place of the standard library:\nerror"
            ),
            "{text}"
        );
        toolchain.rustc = "/nowhere/rustc".into();
        let error = check(&toolchain).expect_err("no compiler");
        assert!(error.to_string().starts_with("could not compile "));
    }
}
