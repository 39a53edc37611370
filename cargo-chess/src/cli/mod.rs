//! The command line: the accepted arguments, and the options that a run takes from them.

mod cargo_args;
mod explore_args;
mod generators;
mod named_values;
mod nextest_args;
mod run_options;
mod test_args;

use std::ffi::OsString;
use std::time::Duration;

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand};

use crate::config::parse_duration;

pub(crate) use cargo_args::{BuildArgs, CargoArgs, FeatureArgs, ManifestArgs};
pub(crate) use explore_args::ExploreArgs;
pub(crate) use generators::{CompletionsArgs, ManArgs, SchemaArgs, SchemaOf};
pub(crate) use nextest_args::{NextestAction, NextestArgs, RunnerArgs};
pub(crate) use run_options::{
    ColorWhen, MessageFormat, NoTests, OutputArgs, ReportArgs, RunArgs, RunIgnored, RunOptions,
};
pub(crate) use test_args::TestArgs;

/// Explores the thread interleavings of a project's existing tests, unchanged.
#[derive(Parser, Debug)]
#[command(
    name = "cargo-chess",
    bin_name = "cargo chess",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 no failure found, 1 usage or configuration error, 4 no test selected, \
                  5 a bound was not finished (--require-complete), \
                  6 a rewrite differs from its snapshot (rewrite --check), 70 internal error, \
                  100 a failure was found, 101 the build failed, 102 cargo metadata failed, 130 interrupted."
)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Explore the interleavings of each test and report the first failure of each
    Test(Box<TestArgs>),
    /// List the tests, and the policy of each package
    List(Box<ListArgs>),
    /// Run one saved schedule again
    Replay(Box<ReplayArgs>),
    /// Show the cause of a failure, its interleaving, and the nearest schedule that passes
    Explain(Box<ExplainArgs>),
    /// Show the rewritten code, and keep it as snapshots to review
    Rewrite(RewriteArgs),
    /// Check a change before it is merged: explore only the tests that it can affect
    Gate(Box<GateArgs>),
    /// Join the JSON events of the shards of a run
    Merge(MergeArgs),
    /// Explore the tests under cargo nextest
    Nextest(Box<NextestArgs>),
    /// The program that cargo nextest starts in place of a test binary. Users do not call it.
    #[command(skip)]
    NextestRunner(RunnerArgs),
    /// Write a commented Chess.toml, and a job for a CI service
    Init(InitArgs),
    /// Print the JSON schema of Chess.toml or of the JSON output
    Schema(SchemaArgs),
    /// Print a script that completes commands and flags in a shell
    Completions(CompletionsArgs),
    /// Print the manual page of cargo chess, or of one of its commands
    Man(ManArgs),
    /// Remove the files that cargo chess has written
    Clean(CleanArgs),
    /// Find and explain the bug of a shipped example
    Demo(DemoArgs),
}

impl Cli {
    /// Parses a command line, of which the first word is the program's name.
    pub(crate) fn of(args: &[OsString]) -> Result<Self, clap::Error> {
        if args.get(1).is_some_and(|name| name == RunnerArgs::NAME) {
            let command = RunnerArgs::try_parse_from(&args[1..]).map(Command::NextestRunner)?;
            return Ok(Self { command });
        }
        Self::try_parse_from(args)
    }
}

/// `cargo chess list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List only tests whose path contains one of these
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Filters must equal the whole path of a test
    #[arg(long)]
    pub exact: bool,
    /// Profile of Chess.toml to use
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// The build.
    #[command(flatten)]
    pub cargo: CargoArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl RunOptions {
    /// Resolves the flags of `cargo chess list`.
    pub(crate) fn from_list(args: &ListArgs) -> Self {
        Self {
            filters: args.filters.clone(),
            exact: args.exact,
            run_ignored: RunIgnored::All,
            ..Self::new(&args.output, args.cargo.build.jobs)
        }
    }
}

/// `cargo chess replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// A schedule file, the id of a saved failure, or a `chess1:...` word
    #[arg(value_name = "SCHEDULE")]
    pub schedule: String,
    /// Print each event as it happens
    #[arg(long, conflicts_with = "debugger")]
    pub trace: bool,
    /// Run the schedule in a debugger, which stops at each preemption
    #[arg(long, value_name = "DEBUGGER", value_enum)]
    pub debugger: Option<Debugger>,
    /// Further arguments for the debugger, as in `-- -batch -ex backtrace`
    #[arg(value_name = "DEBUGGER-ARGS", last = true, requires = "debugger")]
    pub debugger_args: Vec<OsString>,
    /// The build.
    #[command(flatten)]
    pub rebuild: RebuildArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A debugger.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Debugger {
    /// The GNU debugger.
    Gdb,
    /// The LLVM debugger.
    Lldb,
}

/// The build of the program of a saved schedule.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct RebuildArgs {
    /// The features.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The build options.
    #[command(flatten)]
    pub build: BuildArgs,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

/// `cargo chess explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A schedule file, the id of a saved failure, or a `chess1:...` word [default: the newest saved failure]
    #[arg(value_name = "SCHEDULE")]
    pub schedule: Option<String>,
    /// Explain the newest saved failure
    #[arg(long, conflicts_with = "schedule")]
    pub last: bool,
    /// Write an HTML page that shows the execution step by step, to FILE or below target/chess/explain
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "a flag with an optional value")]
    pub html: Option<Option<Utf8PathBuf>>,
    /// Print a report in Markdown for the authors of the crate that fails
    #[arg(long, conflicts_with = "html")]
    pub markdown: bool,
    /// The build.
    #[command(flatten)]
    pub rebuild: RebuildArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo chess rewrite`.
#[derive(Args, Debug)]
pub(crate) struct RewriteArgs {
    /// Show the rewritten code, of all packages or of one package or file
    #[arg(long, value_name = "PKG[:FILE]", num_args = 0..=1, group = "what")]
    #[expect(clippy::option_option, reason = "a flag with an optional value")]
    pub show: Option<Option<String>>,
    /// Compare with the snapshots in chess-snapshots: exit with code 6 if they differ
    #[arg(long, group = "what")]
    pub check: bool,
    /// Write the snapshots
    #[arg(long, group = "what")]
    pub accept: bool,
    /// Like `--check`, and write the differences for `cargo insta review`
    #[arg(long, group = "what")]
    pub pending: bool,
    /// The features.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo chess gate`.
#[derive(Args, Debug)]
pub(crate) struct GateArgs {
    /// The commit to compare with [default: the base of the merge request, or the default branch]
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Explore all tests together for at most DUR, as in 10m
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Also explore tests with a stored verdict
    #[arg(long)]
    pub no_cache: bool,
    /// Exit with code 5 if the preemption bound of a test was not finished
    #[arg(long)]
    pub require_complete: bool,
    /// The options of the exploration.
    #[command(flatten)]
    pub explore: ExploreArgs,
    /// The features.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The build options.
    #[command(flatten)]
    pub build: BuildArgs,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
    /// The report files.
    #[command(flatten)]
    pub reports: ReportArgs,
}

impl GateArgs {
    /// The arguments for cargo's build. The packages are not selected yet.
    pub(crate) fn cargo(&self) -> CargoArgs {
        CargoArgs {
            features: self.features.clone(),
            build: self.build.clone(),
            manifest: self.manifest.clone(),
            ..CargoArgs::default()
        }
    }
}

/// `cargo chess merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// The output of `cargo chess test --shard K/N --message-format json`, one file for each shard
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<camino::Utf8PathBuf>,
    /// The output; the joined events go to standard output in any case.
    #[command(flatten)]
    pub output: OutputArgs,
    /// The report files.
    #[command(flatten)]
    pub reports: ReportArgs,
}

/// `cargo chess init`.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Also write a job that runs the gate on this service
    #[arg(long, value_name = "SERVICE", value_enum)]
    pub ci: Option<Service>,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A CI service.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

/// `cargo chess clean`.
#[derive(Args, Debug)]
pub(crate) struct CleanArgs {
    /// Also remove the cache of runtimes, which all workspaces share
    #[arg(long)]
    pub all: bool,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIR", help_heading = "Compilation options")]
    pub target_dir: Option<camino::Utf8PathBuf>,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo chess demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Name of the example [default: the first one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

#[cfg(test)]
mod tests;
