//! The program that cargo nextest starts in place of a test binary. It lists tests, or explores
//! one.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use camino::Utf8PathBuf;

use super::saved::Saved;
use crate::build::{Build, TestBinary};
use crate::cli::{RunIgnored, RunOptions, RunnerArgs};
use crate::config::{Config, Layer};
use crate::digest;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::report;
use crate::supervise;

/// Handles a call of the test binary by cargo nextest. If the call runs a single test under
/// control, explores the test, and returns the exit code of `cargo chess test`. Passes other calls
/// to the binary.
pub(crate) fn run(args: &RunnerArgs, interrupt: &Interrupt) -> Result<u8> {
    let mut command = args.command.iter().map(|arg| arg.to_string_lossy());
    let path = Utf8PathBuf::from(command.next().unwrap_or_default().into_owned());
    let asked: Vec<_> = command.collect();
    let Some(test) = exact(&asked) else {
        return Err(replace_process(&args.command));
    };
    let Saved {
        mut plan,
        build,
        cargo_flags,
    } = Saved::of(&path, &args.workspace_root)?;
    let known = build
        .binaries
        .iter()
        .find(|it| it.path.file_name() == path.file_name());
    let binary = match known {
        Some(binary) if binary.why_not.is_none() => binary.clone(),
        // A binary that cannot be explored is run unchanged.
        _ => return Err(replace_process(&args.command)),
    };
    let digest = digest::short(format!("{} {test}", binary.id).as_bytes(), 8);
    plan.chess_dir.clone_from(&args.chess_dir);
    plan.run_dir = args.chess_dir.join("nextest").join(digest);
    let binary = TestBinary {
        // Cargo nextest has already set the directory and the variables.
        package_root: here()?,
        env: Vec::new(),
        path,
        ..binary
    };
    let build = Build {
        binaries: vec![binary],
        ..build
    };
    let config = Config::load(
        &plan.workspace_root,
        args.profile.as_deref(),
        env::vars_os(),
        &flags(&args.option)?,
    )?;
    let options = RunOptions {
        filters: vec![test],
        exact: true,
        run_ignored: RunIgnored::All,
        ..RunOptions::new(&args.output, Some(1))
    };
    let mut reporter = report::reporter(&options, &plan.workspace_root)?;
    let inputs = supervise::Inputs {
        plan: &plan,
        config: &config,
        build: &build,
        cargo_flags: &cargo_flags,
        options: &options,
        gating: None,
        interrupt,
    };
    supervise::run(inputs, &mut *reporter)
}

/// The flags of `cargo chess nextest`, which the runner gets as `--option`.
fn flags(options: &[String]) -> Result<Layer> {
    let mut layer = Layer::default();
    for option in options {
        let set = option.split_once('=').ok_or("it has no `=`".to_owned());
        set.and_then(|(key, text)| layer.set_from_text(key, text))
            .map_err(|problem| Error::Usage(format!("--option {option}: {problem}")))?;
    }
    Ok(layer)
}

/// The test to run, if the arguments of the binary select a single one.
fn exact(args: &[impl AsRef<str>]) -> Option<String> {
    let mut args = args.iter().map(AsRef::as_ref);
    let is_list = args.clone().any(|arg| arg == "--list");
    args.find(|arg| *arg == "--exact").filter(|_| !is_list)?;
    args.next().map(str::to_owned)
}

/// Replaces this process by `command`. Returns only if `command` cannot be started.
fn replace_process(command: &[OsString]) -> Error {
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    let path = Utf8PathBuf::from(command[0].to_string_lossy().into_owned());
    Error::io("run", path)(error)
}

fn here() -> Result<Utf8PathBuf> {
    let here = env::current_dir().map_err(Error::io("find", "the current directory"))?;
    as_text(here)
}

fn as_text(directory: PathBuf) -> Result<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(directory).map_err(|path| {
        Error::Usage(format!(
            "the path of the directory in which the test runs, {}, is not UTF-8: move the package, or the \
             contents of the archive, to a directory with a path in UTF-8",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_directory_that_is_no_text_is_named() {
        let directory = OsString::from_vec(b"/tmp/\xff".to_vec());
        let error = as_text(directory.into()).expect_err("no text");
        insta::assert_snapshot!(error, @"the path of the directory in which the test runs, /tmp/�, is not UTF-8: move the package, or the contents of the archive, to a directory with a path in UTF-8");
    }

    #[test]
    fn one_test_is_distinguished_from_a_list() {
        assert_eq!(exact(&["--list", "--format", "terse"]), None);
        assert_eq!(
            exact(&["--exact", "a::b", "--nocapture"]).as_deref(),
            Some("a::b")
        );
        assert_eq!(
            exact(&["--exact", "b", "--nocapture", "--ignored"]).as_deref(),
            Some("b")
        );
        assert_eq!(exact(&["--exact"]), None);
    }
}
