//! `cargo chess`: the library behind the subcommand.
//!
//! `cli` parses the command line, `session` finds the toolchain, `config` and `plan` resolve the
//! options and the packages, and `build` makes test binaries against the facades, with this program
//! as cargo's `RUSTC_WRAPPER` (`wrapper`). `supervise` runs them and passes the results to
//! `report`.

#![forbid(unsafe_code)]

mod analysis;
mod atomic_file;
mod build;
mod cli;
mod commands;
mod config;
mod current_exe;
mod digest;
mod error;
mod events;
#[doc(hidden)]
pub mod fuzz;
mod interrupt;
mod journal;
mod linker;
mod panic_hook;
mod plan;
mod protocol;
mod regressions;
mod report;
mod schedule;
mod session;
mod shard;
mod shell;
mod stdout;
mod suggest;
mod supervise;
mod text;
mod toolchain;
mod wrapper;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use cli::{Cli, Command, OutputArgs};
use commands::{
    clean, completions, demo, explain, gate, init, list, man, merge, nextest, replay, rewrite,
    schema, test,
};
use error::{Error, Result, exit_code};
use interrupt::Interrupt;

/// Runs the command that `args` select. The first argument is the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    panic_hook::explain_panics();
    panic_hook::catch(|| run_command(args.into_iter().collect()))
}

/// A variable for tests. If its value is `scrambled`, the texts for people are scrambled, to show
/// that no program reads them: see [`chess_vocabulary::words`].
const WORDS: &str = "CHESS_TEST_WORDS";

fn run_command(mut args: Vec<OsString>) -> ExitCode {
    if std::env::var_os(WORDS).is_some_and(|it| it == "scrambled") {
        chess_vocabulary::words::scramble();
    }
    if let Some(error) = nextest::put_back(&args) {
        return not_started("the test", &error);
    }
    if let Some(error) = linker::run(&args) {
        return not_started("the linker", &error);
    }
    if let Some(error) = wrapper::run(&args) {
        return not_started("the compiler", &error);
    }
    // Cargo starts `cargo-chess chess ...`. The alias of this repository and users start
    // `cargo-chess ...`.
    if args.get(1).is_some_and(|arg| arg == "chess") {
        args.remove(1);
    }
    let cli = match Cli::of(&args) {
        Ok(cli) => cli,
        Err(answer) => {
            let _ = answer.print();
            return if answer.use_stderr() {
                exit_code::USAGE
            } else {
                exit_code::OK
            }
            .into();
        }
    };
    let shell = output_of(&cli.command).shell();
    let interrupt = Interrupt::install();
    match dispatch(&cli.command, &interrupt) {
        Ok(code) => code.into(),
        Err(error) => {
            // Ctrl-C also ends compilers and tests, and so it is the reason for their failures.
            let error = if interrupt.requested() {
                Error::Interrupted
            } else {
                error
            };
            shell.error(&error);
            error.exit_code().into()
        }
    }
}

/// Reports that a program could not be started in place of this process.
fn not_started(what: &str, error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: could not start {what}: {error}");
    exit_code::INTERNAL.into()
}

fn dispatch(command: &Command, interrupt: &Interrupt) -> Result<u8> {
    match command {
        Command::Test(args) => test::run(args, interrupt),
        Command::List(args) => list::run(args, interrupt).map(|()| exit_code::OK),
        Command::Clean(args) => clean::run(args).map(|()| exit_code::OK),
        Command::Init(args) => init::run(args).map(|()| exit_code::OK),
        Command::Schema(args) => schema::run(args).map(|()| exit_code::OK),
        Command::Completions(args) => completions::run(args).map(|()| exit_code::OK),
        Command::Man(args) => man::run(args).map(|()| exit_code::OK),
        Command::Replay(args) => replay::run(args, interrupt),
        Command::Explain(args) => explain::run(args, interrupt).map(|()| exit_code::OK),
        Command::Rewrite(args) => rewrite::run(args).map(|()| exit_code::OK),
        Command::Gate(args) => gate::run(args, interrupt),
        Command::Merge(args) => merge::run(args),
        Command::Nextest(args) => nextest::run(args, interrupt),
        Command::NextestRunner(args) => nextest::run_one(args, interrupt),
        Command::Demo(args) => demo::run(args, interrupt),
    }
}

fn output_of(command: &Command) -> &OutputArgs {
    match command {
        Command::Test(args) => &args.output,
        Command::List(args) => &args.output,
        Command::Replay(args) => &args.output,
        Command::Explain(args) => &args.output,
        Command::Rewrite(args) => &args.output,
        Command::Gate(args) => &args.output,
        Command::Merge(args) => &args.output,
        Command::Nextest(args) => &args.output,
        Command::NextestRunner(args) => &args.output,
        Command::Clean(args) => &args.output,
        Command::Init(args) => &args.output,
        Command::Schema(args) => &args.output,
        Command::Completions(args) => &args.output,
        Command::Man(args) => &args.output,
        Command::Demo(args) => &args.output,
    }
}
