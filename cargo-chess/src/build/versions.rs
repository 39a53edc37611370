//! The supported versions of Rust, and the messages about other versions.
//!
//! The runtime replaces the standard library of the compiler, and uses unstable parts of it.
//! Versions older than the supported ones are rejected before the build. For a newer version, the
//! build of the runtime shows whether it is accepted.

use std::env;

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{Error, Result};
use crate::toolchain::Toolchain;

/// The newest stable version that is known to work, as in `1.95`.
const NEWEST_STABLE: &str = env!("CARGO_PKG_RUST_VERSION");

/// The newest nightly version that is known to work.
const NEWEST_NIGHTLY: &str = "1.97";

/// The number of supported stable versions before [`NEWEST_STABLE`].
const BEFORE: u32 = 2;

/// The major and the minor version, without the number of the patch.
type Version = (u32, u32);

/// The support of a compiler's version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// The version is older than all supported versions.
    TooOld,
    /// This program is tested with the version.
    Tested,
    /// The version may work: another stable version, beta or nightly.
    Untested,
}

/// Fails if the compiler is older than the supported ones. Newer compilers are accepted.
pub(super) fn check(toolchain: &Toolchain) -> Result<()> {
    match known(release(toolchain)) {
        Known::TooOld => Err(Error::Unsupported(format!(
            "{} is not supported: {}; {}",
            toolchain.version(),
            supported(),
            remedy()
        ))),
        Known::Tested | Known::Untested => Ok(()),
    }
}

/// The error for a compiler that does not compile the facades, or does not accept them. `problem`
/// is a description, and `said` the compiler's message. If this program is tested with the version
/// of the compiler, the error is a defect of this program. If it is not, the message is saved in
/// `chess_dir`.
pub(super) fn refused(
    toolchain: &Toolchain,
    problem: &str,
    said: &str,
    chess_dir: &Utf8Path,
) -> Error {
    let said = said.trim_end();
    if known(release(toolchain)) == Known::Tested {
        return Error::Internal(format!("{problem}:\n{said}"));
    }
    let log = chess_dir.join("unsupported-rustc.log");
    let kept = std::fs::create_dir_all(chess_dir)
        .and_then(|()| std::fs::write(&log, format!("{problem}:\n{said}\n")));
    let place = match kept {
        Ok(()) => format!("the compiler's output is in {log}"),
        Err(error) => format!("the compiler's output could not be written to {log} ({error})"),
    };
    Error::Unsupported(format!(
        "{} does not accept the runtime of cargo chess: {}; {}; {place}",
        toolchain.version(),
        supported(),
        remedy()
    ))
}

/// The supported versions, as text.
fn supported() -> String {
    let oldest = oldest().map_or_else(String::new, |(major, minor)| format!("{major}.{minor} to "));
    format!(
        "cargo chess is for stable Rust {oldest}{NEWEST_STABLE}, and for beta and nightly up to \
         {NEWEST_NIGHTLY}"
    )
}

/// The remedy for an unsupported compiler, as text.
fn remedy() -> String {
    let here = env::current_dir().ok();
    let here = here.and_then(|here| Utf8PathBuf::from_path_buf(here).ok());
    let chosen = env::var("RUSTUP_TOOLCHAIN").unwrap_or_default();
    match here.and_then(|here| pinned_by(&here, &chosen)) {
        Some(file) => format!(
            "{file} selects this version: write a supported version into this file, or override the \
             file with `cargo +stable chess test`"
        ),
        None => "run `rustup update stable`, then `cargo +stable chess test`".to_owned(),
    }
}

/// The file in `directory` or above it that made rustup choose the toolchain `chosen`, if there is
/// one.
fn pinned_by(directory: &Utf8Path, chosen: &str) -> Option<Utf8PathBuf> {
    let names = ["rust-toolchain", "rust-toolchain.toml"];
    let files = directory
        .ancestors()
        .flat_map(|it| names.map(|name| it.join(name)));
    let file = { files }.find(|file| file.is_file())?;
    let text = std::fs::read_to_string(&file).ok()?;
    let channel = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "channel").then_some(value)
    });
    // A file in the older format contains only the name.
    let channel = channel.unwrap_or(&text);
    let channel = channel.trim_matches(|it: char| it.is_whitespace() || it == '"');
    (!channel.is_empty() && chosen.starts_with(channel)).then_some(file)
}

fn known(release: Option<(Version, bool)>) -> Known {
    // If a compiler does not report its version, the version may be supported.
    let Some((version, is_stable)) = release else {
        return Known::Untested;
    };
    if oldest().is_some_and(|oldest| version < oldest) {
        Known::TooOld
    } else if is_stable && Some(version) == parse(NEWEST_STABLE) {
        Known::Tested
    } else {
        Known::Untested
    }
}

fn oldest() -> Option<Version> {
    let (major, minor) = parse(NEWEST_STABLE)?;
    Some((major, minor.checked_sub(BEFORE)?))
}

/// The compiler's version, and whether it is a stable one.
fn release(toolchain: &Toolchain) -> Option<(Version, bool)> {
    let mut lines = toolchain.verbose_version.lines();
    let release = lines.find_map(|line| line.strip_prefix("release: "))?;
    Some((parse(release)?, !release.contains('-')))
}

fn parse(text: &str) -> Option<Version> {
    let mut parts = text.split(['.', '-']).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::exit_code;

    fn toolchain(release: &str) -> Toolchain {
        let mut toolchain = Toolchain::find().expect("the compiler that built this");
        toolchain.verbose_version =
            format!("rustc {release} (0123 2026-01-01)\nrelease: {release}\n");
        toolchain
    }

    fn of(release: &str) -> Known {
        known(super::release(&toolchain(release)))
    }

    #[test]
    fn the_two_versions_before_and_all_that_is_newer_are_tried() {
        assert_eq!(of("1.92.0"), Known::TooOld);
        assert_eq!(of("1.93.0-nightly"), Known::Untested);
        assert_eq!(of("1.93.1"), Known::Untested);
        assert_eq!(of("1.95.0"), Known::Tested);
        assert_eq!(of("1.95.0-beta.2"), Known::Untested);
        assert_eq!(of("1.97.0-nightly"), Known::Untested);
        assert_eq!(of("2.0.0"), Known::Untested);
        assert_eq!(known(None), Known::Untested);
    }

    #[test]
    fn an_old_compiler_is_refused_in_one_sentence() {
        let error = check(&toolchain("1.80.1")).expect_err("it is too old");
        insta::assert_snapshot!(error, @"rustc 1.80.1 (0123 2026-01-01) is not supported: cargo chess is for stable Rust 1.93 to 1.95, and for beta and nightly up to 1.97; run `rustup update stable`, then `cargo +stable chess test`");
    }

    #[test]
    fn a_new_one_is_refused_with_its_words_in_a_file_and_the_tested_one_is_a_defect() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let place = Utf8Path::from_path(place.path()).expect("a UTF-8 path");
        let refused = |release| {
            refused(
                &toolchain(release),
                "it does not compile",
                "error: no",
                place,
            )
        };
        let text = refused("1.99.0-nightly").to_string();
        insta::assert_snapshot!(text.replace(place.as_str(), "target/chess"), @"rustc 1.99.0-nightly (0123 2026-01-01) does not accept the runtime of cargo chess: cargo chess is for stable Rust 1.93 to 1.95, and for beta and nightly up to 1.97; run `rustup update stable`, then `cargo +stable chess test`; the compiler's output is in target/chess/unsupported-rustc.log");
        let log = std::fs::read_to_string(place.join("unsupported-rustc.log"));
        assert_eq!(
            log.expect("it was kept"),
            "it does not compile:\nerror: no\n"
        );
        assert_eq!(refused("1.94.0").exit_code(), exit_code::USAGE);
        assert_eq!(refused("1.95.0").exit_code(), exit_code::INTERNAL);
    }

    #[test]
    fn the_file_that_names_a_toolchain_is_found_in_a_directory_above() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let place = Utf8Path::from_path(place.path()).expect("a UTF-8 path");
        let file = place.join("rust-toolchain.toml");
        std::fs::write(&file, "[toolchain]\nchannel = \"1.80\"\n").expect("writable");
        let inside = place.join("crates/a");
        let pinned = |chosen| pinned_by(&inside, chosen);
        assert_eq!(pinned("1.80-x86_64-unknown-linux-gnu"), Some(file.clone()));
        assert_eq!(pinned("nightly-x86_64-unknown-linux-gnu"), None);
        std::fs::remove_file(file).expect("it is there");
        let file = place.join("rust-toolchain");
        std::fs::write(&file, "1.80.1\n").expect("writable");
        assert_eq!(pinned("1.80.1-x86_64-unknown-linux-gnu"), Some(file));
    }
}
