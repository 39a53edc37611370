//! The attempts to compile a unit: by the treatment of its package, and by weaker treatments if
//! that does not compile.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use camino::Utf8PathBuf;

use super::attempt::{Attempt, Outcome};
use super::changed_copy::ChangedCopy;
use super::fallback_reasons::{Fallback, FallbackRecord};
use super::instructions::PackageInstructions;
use super::unit::Unit;
use super::{Compiler, dep_info, facade_args, linking, replace_with_facades};

impl Compiler<'_> {
    /// Compiles a unit for the tests; returns the exit code.
    pub(super) fn compile(&self, unit: &Unit) -> io::Result<i32> {
        let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = root.and_then(|root| Utf8PathBuf::from_path_buf(root).ok());
        let package = root
            .as_ref()
            .and_then(|root| self.instructions.package(root));
        let name = env::var("CARGO_PKG_NAME").unwrap_or_default();
        let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
        let is_opaque = package.is_some_and(|package| package.opaque);
        let announcing = PackageInstructions {
            name: name.clone(),
            version: version.clone(),
            root: root.clone().unwrap_or_default(),
            opaque: true,
            ..PackageInstructions::default()
        };

        let changed = package.filter(|package| package.changes_sources());
        let copied = changed.map(|package| ChangedCopy::prepare(self.instructions, package, unit));
        let (mut prepared, not_copied) = match copied {
            Some(Ok(sources)) => (Some(sources), None),
            Some(Err(error)) => (None, Some(format!("its sources cannot be copied, {error}"))),
            None => (None, None),
        };
        let attempts = self.attempts(unit, prepared.as_ref(), package);
        let mut failures = Vec::new();
        let mut done = None;
        for (fallback, command) in attempts {
            let is_as_it_is = fallback == Fallback::Opaque || is_opaque && failures.is_empty();
            if is_as_it_is && let Some((sources, command)) = self.announcing(unit, &announcing) {
                // If the announcing copy does not compile, the unit is compiled from its own text.
                if let Outcome::Ended(code) = Attempt::run(command, &mut || Ok(false))? {
                    prepared = Some(sources);
                    done = Some((fallback, code));
                    break;
                }
            }
            let outcome = match (fallback, &mut prepared) {
                (Fallback::Nothing, Some(prepared)) => {
                    self.compile_copy(unit, prepared, package)?
                }
                _ => Attempt::run(command, &mut || Ok(false))?,
            };
            match outcome {
                Outcome::Failed(attempt) => failures.push((fallback, attempt)),
                Outcome::Ended(code) => {
                    done = Some((fallback, code));
                    break;
                }
                Outcome::GivenUp => unreachable!("it is compiled until it ends"),
            }
        }
        let Some((fallback, code)) = done else {
            // Show the errors in the user's own text, and not those in a changed copy.
            let own = failures.iter().position(|(it, _)| *it != Fallback::Nothing);
            let shown = if prepared.is_some() { own } else { None };
            let (_, attempt) = &failures[shown.unwrap_or(0)];
            attempt.show()?;
            return Ok(attempt.code());
        };
        if code == 0 {
            let reason = failures.first().and_then(|(_, attempt)| attempt.reason());
            let (fallback, reason) = match not_copied {
                Some(error) if fallback == Fallback::Nothing => (Fallback::Unchanged, Some(error)),
                _ => (fallback, reason),
            };
            let mut record =
                FallbackRecord::new(&format!("{name} {version}"), unit, fallback, reason);
            if let Some(prepared) = &prepared {
                let compiled = dep_info::map_back(unit, prepared)?;
                if fallback == Fallback::Nothing {
                    record.problems = prepared.problems(&compiled);
                }
            }
            record
                .problems
                .extend(linking::failures(unit, self.instructions));
            record.save(&self.instructions.records, unit)?;
            let treatment = env::var(PackageInstructions::variable(&name)).ok();
            dep_info::depend_on_treatment(unit, &name, treatment.as_deref())?;
        }
        Ok(code)
    }

    /// Compiles a unit from the copy of its sources. It compiles again if the compiler lists
    /// further files that must be changed, and with fewer reported borrows if the compiler rejects
    /// some of them.
    fn compile_copy(
        &self,
        unit: &Unit,
        prepared: &mut ChangedCopy<'_>,
        package: Option<&PackageInstructions>,
    ) -> io::Result<Outcome> {
        let mut is_listed = false;
        loop {
            let command = self.rewritten(unit, prepared, package);
            match Attempt::run(command, &mut || prepared.learn(unit, false))? {
                Outcome::GivenUp => {}
                Outcome::Failed(attempt) => {
                    let is_known = is_listed || !attempt.misses_file();
                    is_listed = true;
                    if !is_known {
                        self.list_sources(package)?;
                    }
                    let has_more = !is_known && prepared.learn(unit, true)?;
                    if !has_more && !prepared.back_off(&attempt)? {
                        return Ok(Outcome::Failed(attempt));
                    }
                }
                ended @ Outcome::Ended(code) => {
                    if code == 0 {
                        prepared.keep_refused()?;
                    }
                    return Ok(ended);
                }
            }
        }
    }

    /// The attempts to compile a unit. The best treatment is the first one.
    fn attempts(
        &self,
        unit: &Unit,
        prepared: Option<&ChangedCopy>,
        package: Option<&PackageInstructions>,
    ) -> Vec<(Fallback, Command)> {
        let is_opaque = package.is_some_and(|package| package.opaque);
        let cfg = package.map_or(&[][..], |package| &package.cfg[..]);
        let facades = self.instructions.facades.as_std_path().as_os_str();
        let swapped_with = |more: Vec<OsString>| {
            let mut swapped = self.command();
            swapped
                .args(self.args)
                .args(cfg.iter().flat_map(|it| ["--cfg", it.as_str()]))
                .args(replace_with_facades(facades, self.args))
                .args(more)
                .env("RUSTC_BOOTSTRAP", "1");
            linking::announce_foreign_calls(&mut swapped, self.args, unit, self.instructions);
            swapped
        };
        let swapped = swapped_with(self.instrumenting(package));
        let mut opaque = self.command();
        opaque
            .args(self.args)
            .args(facade_args::opaque_args(facades))
            .args(self.mixed())
            .env("RUSTC_BOOTSTRAP", "1");
        if is_opaque {
            return vec![(Fallback::Nothing, opaque), (Fallback::Swapped, swapped)];
        }
        let mut attempts = Vec::new();
        if let Some(prepared) = prepared {
            let rewritten = self.rewritten(unit, prepared, package);
            attempts.push((Fallback::Nothing, rewritten));
            attempts.push((Fallback::Unchanged, swapped));
        } else {
            attempts.push((Fallback::Nothing, swapped));
        }
        if let Some(mixed) = self.mixed() {
            attempts.push((Fallback::Unwatched, swapped_with(vec![mixed.into()])));
        }
        // A test binary that is not redirected cannot be explored.
        if unit.is_library {
            attempts.push((Fallback::Opaque, opaque));
        }
        attempts
    }

    /// The compiler for a library that is compiled unchanged, except that its functions announce
    /// themselves. It reads a copy of the sources. `None` if the unit is no library or cannot be
    /// copied.
    fn announcing<'a>(
        &'a self,
        unit: &Unit,
        package: &'a PackageInstructions,
    ) -> Option<(ChangedCopy<'a>, Command)> {
        if !unit.is_library || package.root.as_str().is_empty() {
            return None;
        }
        let sources = ChangedCopy::prepare(self.instructions, package, unit).ok()?;
        let facades = self.instructions.facades.as_std_path().as_os_str();
        let mut command = self.command();
        command
            .args(sources.args(self.args, unit))
            .args(facade_args::opaque_args(facades))
            .args(self.mixed())
            .env("RUSTC_BOOTSTRAP", "1");
        Some((sources, command))
    }

    /// The compiler for a unit from the copy of its package's sources.
    fn rewritten(
        &self,
        unit: &Unit,
        prepared: &ChangedCopy,
        package: Option<&PackageInstructions>,
    ) -> Command {
        let args = prepared.args(self.args, unit);
        let cfg = package.map_or(&[][..], |package| &package.cfg[..]);
        let facades = self.instructions.facades.as_std_path().as_os_str();
        let mut command = self.command();
        command
            .args(&args)
            .args(cfg.iter().flat_map(|it| ["--cfg", it.as_str()]))
            .args(replace_with_facades(facades, &args))
            .args(self.instrumenting(package))
            .env("RUSTC_BOOTSTRAP", "1");
        if let Some(out_dir) = prepared.out_dir() {
            command.env("OUT_DIR", out_dir);
        }
        linking::announce_foreign_calls(&mut command, self.args, unit, self.instructions);
        command
    }
}
