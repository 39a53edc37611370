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
mod fallback;
mod fallback_reasons;
mod instructions;
mod instrument_accesses;
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
use std::process::{Command, Stdio, exit};

pub(crate) use compiled::CompiledFiles;
pub(crate) use coverage::Coverage;
pub(crate) use facade_args::replace_with_facades;
pub(crate) use fallback_reasons::{Fallback, FallbackRecord};
pub(crate) use instructions::{Entry, Instructions, PackageInstructions};
pub(crate) use rejected_sites::RejectedSites;
pub(crate) use rewriting::{PackageFacts, Rewriting, source_files};

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

    /// Makes the compiler list the files of a unit. The compiler reads the user's own sources,
    /// because a file that the unit needs is missing in the copy.
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

    /// The arguments that instrument a unit of `package`, if the build is instrumented.
    fn instrumenting(&self, package: Option<&PackageInstructions>) -> Vec<OsString> {
        if package.is_some_and(|package| package.unwatched) {
            self.mixed().map(OsString::from).into_iter().collect()
        } else if self.instructions.instruments {
            instrument_accesses::instrumenting(self.args)
        } else {
            Vec::new()
        }
    }

    /// The argument for a unit that is not instrumented, if the build has instrumented units.
    fn mixed(&self) -> Option<&'static str> {
        self.instructions
            .instruments
            .then_some(instrument_accesses::MIXED)
    }
}
