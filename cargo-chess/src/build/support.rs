//! Rejects tests that can be built but not explored, before the build.

use super::versions;
use crate::cli::CargoArgs;
use crate::error::{Error, Result};
use crate::toolchain::{SUPPORTED_TARGET, Toolchain};

/// Fails if the compiler, the target or the link options do not allow exploration.
pub(super) fn check(toolchain: &Toolchain, args: &CargoArgs) -> Result<()> {
    if args.targets.doc {
        return Err(Error::Unsupported(
            "documentation tests cannot be explored, because rustdoc compiles and runs them. Run them \
             with `cargo test --doc`. To explore the code of a documentation test, move it to a \
             `#[test]` function"
                .to_owned(),
        ));
    }
    let args = &args.build;
    let host = toolchain.host();
    if host != SUPPORTED_TARGET {
        return Err(Error::Unsupported(format!(
            "cargo chess runs on {SUPPORTED_TARGET} only, so far; this machine's compiler is for {host}.\n\
             Run cargo chess in a container or a CI job for x86-64 Linux. `cargo test` still runs the tests on \
             this machine."
        )));
    }
    versions::check(toolchain)?;
    let targets = toolchain
        .config
        .build_target_for_cli(&args.target)
        .map_err(|error| Error::Usage(format!("cargo's configuration is wrong: {error}")))?;
    if let Some(other) = targets.iter().find(|target| *target != host) {
        let source = if args.target.is_some() {
            "is the value of --target"
        } else {
            "is cargo's configured build target (`build.target` or CARGO_BUILD_TARGET)"
        };
        return Err(Error::Unsupported(format!(
            "tests can be explored only on this machine's own target, {host}, but `{other}` {source}; \
             pass `--target {host}`"
        )));
    }
    let flags = toolchain
        .config
        .rustflags(host)
        .map_err(|error| Error::Usage(format!("cargo's configuration is wrong: {error}")))?
        .map_or_else(Vec::new, |flags| flags.flags);
    if links_statically(&flags) {
        return Err(Error::Unsupported(
            "the rustc flags (RUSTFLAGS, or `rustflags` in cargo's configuration) link the C library \
             statically (`+crt-static`); cargo chess replaces functions of the C library, which must be \
             linked dynamically: remove `+crt-static` for this run"
                .to_owned(),
        ));
    }
    if let Some(sanitizer) = sanitizer(&flags) {
        return Err(Error::Unsupported(format!(
            "the rustc flags (RUSTFLAGS, or `rustflags` in cargo's configuration) compile the tests \
             for a sanitizer (`-Zsanitizer={sanitizer}`), whose runtime replaces the same functions \
             as cargo chess: remove this flag for this run"
        )));
    }
    Ok(())
}

/// The sanitizer that `flags` select, if there is one.
fn sanitizer(flags: &[String]) -> Option<&str> {
    let is_separate = |flag: Option<&String>| flag.is_some_and(|flag| flag == "-Z");
    flags.iter().enumerate().find_map(|(at, flag)| {
        let before = at.checked_sub(1).and_then(|before| flags.get(before));
        let option = match flag.strip_prefix("-Z") {
            Some(option) => option,
            None if is_separate(before) => flag,
            None => return None,
        };
        option.strip_prefix("sanitizer=")
    })
}

/// Whether the last occurrence of `crt-static` in `flags` turns it on.
fn links_statically(flags: &[String]) -> bool {
    flags
        .iter()
        .filter_map(|flag| flag.rsplit_once("target-feature=").map(|(_, list)| list))
        .flat_map(|list| list.split(','))
        .fold(false, |on, feature| match feature.trim() {
            "+crt-static" => true,
            "-crt-static" => false,
            _ => on,
        })
}

#[cfg(test)]
mod tests {
    use super::{Toolchain, check, links_statically, sanitizer};
    use crate::cli::CargoArgs;

    fn flags(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_static_c_library_is_seen_in_each_spelling() {
        assert!(links_statically(&flags("-C target-feature=+crt-static")));
        assert!(links_statically(&flags(
            "-O -Ctarget-feature=+avx2,+crt-static"
        )));
        assert!(links_statically(&flags(
            "--codegen target-feature=+crt-static"
        )));
    }

    #[test]
    fn the_last_word_on_a_static_c_library_counts() {
        assert!(!links_statically(&flags(
            "-Ctarget-feature=+crt-static -Ctarget-feature=-crt-static"
        )));
        assert!(!links_statically(&flags("--cfg crt-static")));
    }

    #[test]
    fn a_sanitizer_is_seen_in_each_spelling() {
        assert_eq!(sanitizer(&flags("-Zsanitizer=thread")), Some("thread"));
        assert_eq!(
            sanitizer(&flags("-O -Z sanitizer=address")),
            Some("address")
        );
        assert_eq!(
            sanitizer(&flags("--cfg sanitizer=address -Zthreads=2")),
            None
        );
    }

    #[test]
    fn a_compiler_for_another_machine_is_refused_with_where_to_go() {
        let mut toolchain = Toolchain::find().expect("the compiler that built this");
        toolchain.verbose_version = "rustc 1.95.0\nhost: aarch64-apple-darwin\n".to_owned();
        let error = check(&toolchain, &CargoArgs::default()).expect_err("not this one");
        insta::assert_snapshot!(error, @r"
        cargo chess runs on x86_64-unknown-linux-gnu only, so far; this machine's compiler is for aarch64-apple-darwin.
        Run cargo chess in a container or a CI job for x86-64 Linux. `cargo test` still runs the tests on this machine.
        ");
    }

    #[test]
    fn documentation_tests_are_reported_as_not_explored() {
        let toolchain = Toolchain::find().expect("the compiler that built this");
        let mut args = CargoArgs::default();
        args.targets.doc = true;
        let error = check(&toolchain, &args).expect_err("it is asked for doctests");
        insta::assert_snapshot!(error, @"documentation tests cannot be explored, because rustdoc compiles and runs them. Run them with `cargo test --doc`. To explore the code of a documentation test, move it to a `#[test]` function");
    }
}
