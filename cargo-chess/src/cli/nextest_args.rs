//! `cargo chess nextest`: its own arguments, and those that cargo nextest gets unchanged.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{Args, Parser, ValueEnum};

use super::{CargoArgs, ExploreArgs, OutputArgs};

/// `cargo chess nextest`.
#[derive(Args, Debug)]
pub(crate) struct NextestArgs {
    /// Action of cargo nextest
    #[arg(value_name = "ACTION", value_enum, default_value_t)]
    pub action: NextestAction,
    /// Arguments for cargo nextest, as in `-- -E 'test(bank)' --partition hash:1/2`
    #[arg(value_name = "NEXTEST-ARGS", last = true)]
    pub passed_on: Vec<String>,
    /// The options of the exploration.
    #[command(flatten)]
    pub explore: ExploreArgs,
    /// The build.
    #[command(flatten)]
    pub cargo: CargoArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The action of cargo nextest on the tests.
#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum NextestAction {
    /// Run the tests
    #[default]
    Run,
    /// List the tests
    List,
    /// Pack the test binaries into an archive, to run them elsewhere
    Archive,
}

impl NextestAction {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::List => "list",
            Self::Archive => "archive",
        }
    }
}

/// `cargo-chess nextest-runner`, which cargo nextest calls for each test.
#[derive(Parser, Debug)]
#[command(name = RunnerArgs::NAME)]
pub(crate) struct RunnerArgs {
    /// The workspace's root directory
    #[arg(long, value_name = "DIR")]
    pub workspace_root: Utf8PathBuf,
    /// Directory for the files of cargo chess
    #[arg(long, value_name = "DIR")]
    pub chess_dir: Utf8PathBuf,
    /// An option of the exploration, as a key of Chess.toml
    #[arg(long, value_name = "KEY=VALUE")]
    pub option: Vec<String>,
    /// The profile of Chess.toml
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// The test binary, and its arguments from cargo nextest
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl RunnerArgs {
    /// The first word of its command line.
    pub(crate) const NAME: &str = "nextest-runner";
}
