//! Calls `cargo test --no-run` with this program as the compiler's wrapper, and reads the
//! products that cargo reports.

use std::ffi::OsStr;
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use camino::Utf8Path;
use cargo_metadata::{Artifact, BuildScript, Message};

use super::runtime::Runtime;
use super::treatments;
use crate::cli::{CargoArgs, ColorWhen};
use crate::config::Policy;
use crate::current_exe;
use crate::error::{Error, OF_CARGO, Result, not_run};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::plan::directories::build_variables;
use crate::shell::Shell;
use crate::toolchain::Toolchain;
use crate::wrapper::{self, CompiledFiles, Fallback, FallbackRecord, PackageInstructions};

/// The products that cargo reports.
#[derive(Default)]
pub(super) struct Products {
    /// The units with an executable: tests and programs.
    pub(super) executables: Vec<Artifact>,
    /// The build scripts that ran, now or in an earlier build.
    pub(super) scripts: Vec<BuildScript>,
    /// The files that each package was compiled from.
    pub(super) compiled: CompiledFiles,
    /// The records of the units that could not be treated as instructed.
    pub(super) records: Vec<FallbackRecord>,
    /// The environment variables that were set for the call of cargo.
    pub(super) variables: Vec<(String, String)>,
}

/// One call of cargo.
pub(super) struct Invocation<'a> {
    pub(super) toolchain: &'a Toolchain,
    pub(super) runtime: &'a Runtime,
    pub(super) args: &'a CargoArgs,
    /// The target directory for everything that is built against the runtime.
    pub(super) target_dir: &'a Utf8Path,
    /// The treatment of each package.
    pub(super) plan: &'a Plan,
    pub(super) color: ColorWhen,
    pub(super) shell: Shell,
    /// Ends cargo on Ctrl-C.
    pub(super) interrupt: &'a Interrupt,
}

impl Invocation<'_> {
    /// Runs the build. Cargo's own messages are passed on to standard error.
    pub(super) fn run(&self) -> Result<Products> {
        std::fs::create_dir_all(self.target_dir)
            .map_err(Error::io("create the directory", self.target_dir))?;
        let mut command = self.command()?;
        let mut cargo = command.spawn().map_err(|error| {
            Error::Unsupported(not_run(&self.toolchain.cargo, OF_CARGO, &error))
        })?;
        let mut products = Products {
            variables: variables(&command),
            ..Products::default()
        };
        let ending = self.interrupt.ending(&cargo);
        let output = BufReader::new(cargo.stdout.take().expect("it is piped"));
        for message in Message::parse_stream(output) {
            match message.map_err(Error::io("read cargo's messages about", self.target_dir))? {
                Message::CompilerArtifact(artifact) => {
                    products.compiled.add(&artifact, &self.plan.workspace_root);
                    products
                        .records
                        .extend(treatments::record(self.target_dir, &artifact));
                    if artifact.executable.is_some() {
                        products.executables.push(artifact);
                    }
                }
                Message::BuildScriptExecuted(script) => products.scripts.push(script),
                _ => {}
            }
        }
        let status = cargo
            .wait()
            .map_err(Error::io("wait for cargo in", self.target_dir))?;
        drop(ending);
        if status.success() {
            Ok(products)
        } else if is_full(self.target_dir) {
            let full = ErrorKind::StorageFull.into();
            Err(Error::io("build the tests in", self.target_dir)(full))
        } else {
            Err(Error::Build(format!(
                "the tests could not be built, so nothing was explored; the output of cargo above has the reason.\n\
                 {}If plain `cargo test --no-run` builds them, this is a defect of cargo chess: please \
                 report it. (Files in /cargo-chess/runtime belong to its replacement of `std`.)",
                self.about_opaque_packages(&products.records)
            )))
        }
    }

    /// A text about the packages that were compiled with the real `std`. The types of the real
    /// `std` differ from those of the facades, which is a common cause of errors. The text is
    /// empty if there are no such packages.
    fn about_opaque_packages(&self, records: &[FallbackRecord]) -> String {
        let named = self.plan.packages.iter().filter_map(|package| {
            let title = format!("{} {}", package.name, package.version);
            (package.policy == Policy::Opaque).then(|| format!("{title} (policy `opaque`)"))
        });
        let mut opaque: Vec<String> = named.collect();
        let mut reasons = String::new();
        for record in records.iter().filter(|it| it.fallback == Fallback::Opaque) {
            opaque.push(record.package.clone());
            for sentence in record.sentences() {
                reasons += &sentence;
                reasons += ".\n";
            }
        }
        if opaque.is_empty() {
            return String::new();
        }
        format!(
            "These packages are compiled unchanged: {}. The `Arc`, `Mutex` and similar types in their \
             API are those of the real `std`, and differ from the types that other packages use. If an \
             error is about two types with one name, give both packages the same policy in \
             Chess.toml.\n{reasons}",
            opaque.join(", ")
        )
    }

    fn command(&self) -> Result<Command> {
        let current_exe = current_exe::path()?;
        let next = self.users_wrapper().filter(|next| *next != current_exe);
        let instructions =
            treatments::instructions(self.plan, &self.runtime.dir, self.target_dir, next)?;
        let file = treatments::save(&instructions, self.target_dir)?;
        let mut command = Command::new(&self.toolchain.cargo);
        command
            .args(["test", "--no-run"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--target", self.toolchain.host()])
            .args(self.args.packages.to_cargo())
            .args(self.args.targets.to_cargo())
            .args(self.args.features.to_cargo())
            .args(self.args.build.to_cargo())
            .args(self.args.manifest.to_cargo());
        match self.shell.verbosity {
            ..0 => drop(command.arg("--quiet")),
            0 | 1 => {}
            2.. => drop(command.arg("--verbose")),
        }
        match self.color {
            ColorWhen::Auto => {}
            ColorWhen::Always => drop(command.args(["--color", "always"])),
            ColorWhen::Never => drop(command.args(["--color", "never"])),
        }
        command
            .envs(build_variables(self.target_dir))
            .env("RUSTC_WRAPPER", &current_exe)
            .env(wrapper::INSTRUCTIONS_VARIABLE, file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        for package in &instructions.packages {
            let variable = PackageInstructions::variable(&package.name);
            command.env(variable, instructions.digest_of(&package.name));
        }
        Ok(command)
    }

    /// The wrapper that the user has configured, such as sccache.
    fn users_wrapper(&self) -> Option<PathBuf> {
        let wrapper = self.toolchain.config.build.rustc_wrapper.clone()?;
        (!wrapper.as_os_str().is_empty()).then_some(wrapper)
    }
}

/// The variables that `command` sets.
fn variables(command: &Command) -> Vec<(String, String)> {
    let text = |text: &OsStr| text.to_str().map(str::to_owned);
    let set = command.get_envs();
    set.filter_map(|(name, value)| Some((text(name)?, text(value?)?)))
        .collect()
}

/// Whether the disk of `dir` has less room than an object file needs.
fn is_full(dir: &Utf8Path) -> bool {
    const ROOM: u64 = 1 << 20;
    rustix::fs::statvfs(dir.as_std_path())
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM)
}
