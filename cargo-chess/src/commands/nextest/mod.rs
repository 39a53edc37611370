//! `cargo chess nextest`: runs each test of cargo nextest as an exploration.
//!
//! cargo nextest selects and reports the tests. First, this command builds the tests as `cargo
//! chess test` does. Then it calls cargo nextest with the same target directory and settings, so
//! that cargo nextest's own call of cargo finds everything built. This program is configured as
//! the target's runner: in place of each test binary, cargo nextest starts [`mod@runner`].

mod environment;
mod runner;
mod saved;

use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::{ExploreArgs, MessageFormat, NextestAction, NextestArgs, RunnerArgs};
use crate::config::Config;
use crate::current_exe;
use crate::error::{Error, OF_CARGO, Result, exit_code, not_run};
use crate::interrupt::Interrupt;
use crate::plan::Workspace;
use crate::session::Session;
use crate::toolchain::Toolchain;
use saved::Saved;

pub(crate) use environment::put_back;
pub(crate) use runner::run as run_one;

/// The option with which cargo nextest runs the tests of an archive.
const ARCHIVE_FILE: &str = "--archive-file";

/// Builds the tests, unless they are in an archive, and starts cargo nextest.
pub(crate) fn run(args: &NextestArgs, interrupt: &Interrupt) -> Result<u8> {
    if args.output.message_format != MessageFormat::Human {
        return Err(Error::Usage(
            "`--message-format` before `--` is not for `cargo chess nextest`: cargo nextest has its own \
             formats, so pass its `--message-format` after `--`"
                .to_owned(),
        ));
    }
    let flags = args.explore.to_layer();
    let profile = args.explore.profile.as_deref();
    let toolchain = Toolchain::find()?;
    check_installed(&toolchain)?;
    let mut command = Command::new(&toolchain.cargo);
    command.args(["nextest", args.action.name()]);
    let is_archive = |arg: &String| arg.split('=').next() == Some(ARCHIVE_FILE);
    let is_unpacked =
        args.action != NextestAction::Archive && args.passed_on.iter().any(is_archive);
    let (root, chess_dir) = if is_unpacked {
        let (manifest, features) = (&args.cargo.manifest, &args.cargo.features);
        let target_dir = args.cargo.build.target_dir.as_deref();
        let workspace = Workspace::find(&toolchain, manifest, features, target_dir)?;
        // Report an error in Chess.toml once here, so that not each test reports it.
        Config::load(&workspace.root, profile, [], &flags)?;
        let chess_dir = workspace.chess_dir();
        command.args(args.cargo.manifest.to_cargo());
        (workspace.root, chess_dir)
    } else {
        let session = Session::open(&args.cargo, profile, &flags)?;
        let build = session.build(&args.cargo, &args.output, interrupt)?;
        command
            .args(selection(args))
            .args(["--target", toolchain.host()]);
        environment::set(&mut command, &build.variables)?;
        let plan = session.plan;
        let (root, chess_dir) = (plan.workspace_root.clone(), plan.chess_dir.clone());
        let cargo_flags = args.cargo.build_flags();
        let saved = Saved {
            plan,
            build,
            cargo_flags,
        };
        saved.write()?;
        (root, chess_dir)
    };
    let config = write_config(&chess_dir)?;
    command
        .args([
            "--config",
            &runner(&toolchain, &root, &chess_dir, &args.explore)?,
        ])
        .arg(format!("--tool-config-file=chess:{config}"));
    if args.action == NextestAction::Run {
        // A test that fails under one schedule must not be run again in the hope that it passes.
        command.args(["--retries", "0"]);
    }
    let status = command
        .args(&args.passed_on)
        .status()
        .map_err(|error| Error::Unsupported(not_run(&toolchain.cargo, OF_CARGO, &error)))?;
    if interrupt.requested() {
        return Err(Error::Interrupted);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(exit_code::INTERNAL))
}

fn check_installed(toolchain: &Toolchain) -> Result<()> {
    let mut version = Command::new(&toolchain.cargo);
    version.args(["nextest", "--version"]);
    version.stdout(Stdio::null()).stderr(Stdio::null());
    match version.status() {
        Ok(status) if status.success() => Ok(()),
        Err(error) => Err(Error::Unsupported(not_run(
            &toolchain.cargo,
            OF_CARGO,
            &error,
        ))),
        Ok(_) => Err(Error::Unsupported(
            "cargo nextest is not installed: run `cargo install cargo-nextest --locked`, or install a \
             prebuilt binary (see https://nexte.st)"
                .to_owned(),
        )),
    }
}

/// The flags for the selection of tests and for the build, in cargo nextest's form.
fn selection(args: &NextestArgs) -> Vec<String> {
    let cargo = &args.cargo;
    let mut flags = cargo.packages.to_cargo();
    flags.extend(cargo.targets.to_cargo());
    flags.extend(cargo.features.to_cargo());
    flags.extend(cargo.manifest.to_cargo());
    flags.extend(cargo.build.profile_flags());
    if let Some(jobs) = cargo.build.jobs {
        flags.extend(["--build-jobs".to_owned(), jobs.to_string()]);
        if args.action == NextestAction::Run {
            flags.extend(["--test-threads".to_owned(), jobs.to_string()]);
        }
    }
    flags
}

/// The line of cargo's configuration that makes this program the runner of each test binary.
fn runner(
    toolchain: &Toolchain,
    root: &Utf8Path,
    chess_dir: &Utf8Path,
    explore: &ExploreArgs,
) -> Result<String> {
    let current_exe = current_exe::path_as_text()?;
    let options = explore.to_layer().texts().into_iter();
    let options: Vec<_> = options
        .map(|(key, text)| format!("--option={key}={text}"))
        .collect();
    let mut words = vec![current_exe.as_str(), RunnerArgs::NAME];
    words.extend(["--workspace-root", root.as_str()]);
    words.extend(["--chess-dir", chess_dir.as_str()]);
    words.extend(options.iter().map(String::as_str));
    if let Some(profile) = &explore.profile {
        words.extend(["--profile", profile]);
    }
    words.push("--");
    let words: toml_edit::Array = words.into_iter().collect();
    Ok(format!("target.{}.runner = {words}", toolchain.host()))
}

/// Writes this tool's defaults for cargo nextest. The workspace's own configuration has precedence.
fn write_config(chess_dir: &Utf8Path) -> Result<Utf8PathBuf> {
    let path = chess_dir.join("nextest.toml");
    std::fs::create_dir_all(chess_dir).map_err(Error::io("create the directory", chess_dir))?;
    std::fs::write(&path, include_str!("nextest.toml")).map_err(Error::io("write", &path))?;
    Ok(path)
}
