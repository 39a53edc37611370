//! This program as cargo's `RUSTC_WRAPPER`: compiles each unit by its package's treatment.
//!
//! It runs once for each rustc that cargo starts. A unit for the tests is compiled against the
//! facades, from sources that the wrapper has changed by the treatment of the package: rewritten,
//! or replaced by overlays. If that does not compile, the wrapper falls back to a weaker treatment
//! and records it: the unit is compiled against the facades from its own sources, or unchanged.

mod attempt;
mod changed_copy;
mod compiled;
mod coverage;
mod dep_info;
mod facade_args;
mod fallback_reasons;
mod instructions;
mod instrument;
mod link_tree;
mod linking;
mod outside_files;
mod rejected_sites;
mod rewriting;
mod unit;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio, exit};

use camino::Utf8PathBuf;

pub(crate) use compiled::CompiledFiles;
pub(crate) use coverage::Coverage;
pub(crate) use facade_args::replace_with_facades;
pub(crate) use fallback_reasons::{Fallback, FallbackRecord};
pub(crate) use instructions::{Entry, Instructions, PackageInstructions};
pub(crate) use rejected_sites::RejectedSites;
pub(crate) use rewriting::{PackageFacts, Rewriting, source_files};

use attempt::{Attempt, Outcome};
use changed_copy::ChangedCopy;
use unit::Unit;

/// The variable with the path of the instructions. If it is set, this program is the wrapper.
pub(crate) const INSTRUCTIONS_VARIABLE: &str = "CHESS_WRAPPER_INSTRUCTIONS";

/// Becomes the wrapped rustc, if this process was started as a wrapper.
///
/// Exits with the compiler's exit code. Returns `None` if this process is no wrapper, and an error
/// if the compiler could not run.
pub(crate) fn run(args: &[OsString]) -> Option<io::Error> {
    let file = env::var_os(INSTRUCTIONS_VARIABLE)?;
    let (rustc, args) = args.get(1..)?.split_first()?;
    let wrapped = Instructions::read(file.as_ref()).and_then(|instructions| {
        let compiler = Compiler {
            rustc,
            args,
            instructions: &instructions,
        };
        match Unit::parse(args) {
            Some(unit) => compiler.compile(&unit),
            None if unit::asks_for_cfg(args) => compiler.print_cfg(),
            // These units are build scripts, procedural macros, and the probes of build scripts.
            // They are compiled unchanged.
            None => Err(compiler.command().args(args).exec()),
        }
    });
    match wrapped {
        Ok(code) => exit(code),
        Err(error) => Some(error),
    }
}

/// The compiler with the arguments from cargo.
struct Compiler<'a> {
    rustc: &'a OsStr,
    args: &'a [OsString],
    instructions: &'a Instructions,
}

impl Compiler<'_> {
    /// The compiler. If the user has configured a wrapper, that wrapper starts it.
    fn command(&self) -> Command {
        match &self.instructions.next {
            Some(next) => {
                let mut command = Command::new(next);
                command.arg(self.rustc);
                command
            }
            None => Command::new(self.rustc),
        }
    }

    /// Prints the target's configuration for cargo, with the additions of overlays. Cargo selects
    /// dependencies by the configuration, and passes it to build scripts.
    fn print_cfg(&self) -> io::Result<i32> {
        let status = self.command().args(self.args).status()?;
        if status.success() {
            let mut out = io::stdout().lock();
            for cfg in &self.instructions.cfg {
                writeln!(out, "{cfg}")?;
            }
        }
        Ok(status.code().unwrap_or(101))
    }

    /// Compiles a unit for the tests; returns the exit code.
    fn compile(&self, unit: &Unit) -> io::Result<i32> {
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

    /// Makes the compiler list the files of a unit. This reads the user's own sources, because a
    /// file that the unit needs is missing in the copy.
    fn list_sources(&self, package: Option<&PackageInstructions>) -> io::Result<()> {
        let is_emit = |arg: &OsString| arg.as_encoded_bytes().starts_with(b"--emit=");
        let args = self.args.iter().filter(|arg| !is_emit(arg));
        let cfg = package.map_or(&[][..], |package| &package.cfg[..]);
        let mut command = self.command();
        command
            .args(args)
            .arg("--emit=dep-info")
            .args(cfg.iter().flat_map(|it| ["--cfg", it.as_str()]))
            .args(replace_with_facades(
                self.instructions.facades.as_std_path().as_os_str(),
                self.args,
            ))
            .env("RUSTC_BOOTSTRAP", "1")
            .stderr(Stdio::null());
        command.status().map(drop)
    }

    /// The arguments that instrument a unit, if the build is instrumented.
    fn instrumenting(&self) -> Vec<OsString> {
        if self.instructions.instruments {
            instrument::instrumenting(self.args)
        } else {
            Vec::new()
        }
    }

    /// The argument for a unit that is not instrumented, if the build has instrumented units.
    fn mixed(&self) -> Option<&'static str> {
        self.instructions.instruments.then_some(instrument::MIXED)
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
        let swapped = swapped_with(self.instrumenting());
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
            .args(self.instrumenting())
            .env("RUSTC_BOOTSTRAP", "1");
        if let Some(out_dir) = prepared.out_dir() {
            command.env("OUT_DIR", out_dir);
        }
        linking::announce_foreign_calls(&mut command, self.args, unit, self.instructions);
        command
    }
}
