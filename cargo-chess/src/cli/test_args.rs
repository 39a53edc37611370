//! `cargo chess test`: its own arguments, the groups of options that it shares with other commands,
//! and the [`RunOptions`] that result from them. A flag for the exploration belongs in
//! `explore_args.rs`, and one for the selection of tests, output or report files in
//! `run_options.rs`.

use clap::Args;

use super::{CargoArgs, ExploreArgs, OutputArgs, ReportArgs, RunArgs, RunIgnored, RunOptions};

/// `cargo chess test`.
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Explore only tests whose path contains one of these
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Arguments for the test binaries, as after `cargo test --`
    #[arg(value_name = "TEST-BINARY-ARGS", last = true)]
    pub binary_args: Vec<String>,
    /// Compile, but do not run the tests
    #[arg(long)]
    pub no_run: bool,
    /// The selection of the tests, and the course of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// The options of the exploration.
    #[command(flatten)]
    pub explore: ExploreArgs,
    /// The build.
    #[command(flatten)]
    pub cargo: CargoArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
    /// The report files.
    #[command(flatten)]
    pub reports: ReportArgs,
}

impl RunOptions {
    /// Resolves the flags of `cargo chess test`.
    ///
    /// libtest's own options have their usual meaning after `--`.
    pub(crate) fn from_test(args: &TestArgs) -> Self {
        let mut options = Self {
            reports: args.reports.clone(),
            fail_fast: !args.run.no_fail_fast,
            filters: args.filters.clone(),
            exact: args.run.exact,
            run_ignored: args.run.run_ignored,
            shard: args.run.shard,
            resume: args.run.resume,
            no_tests: args.run.no_tests,
            require_complete: args.run.require_complete,
            ..Self::new(&args.output, args.cargo.build.jobs)
        };
        options.take_libtest_args(&args.binary_args);
        options
    }

    /// Applies libtest's options, and keeps those that the test binaries get.
    fn take_libtest_args(&mut self, args: &[String]) {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            match name {
                "--exact" => self.exact = true,
                "--ignored" => self.run_ignored = RunIgnored::IgnoredOnly,
                "--include-ignored" => self.run_ignored = RunIgnored::All,
                "--nocapture" | "--no-capture" => self.no_capture = true,
                "--skip" => self.skip.extend(value.or_else(|| args.next().cloned())),
                "--test-threads" => {
                    let threads = value.or_else(|| args.next().cloned());
                    let threads = threads.and_then(|n| n.parse().ok());
                    self.jobs = threads.or(self.jobs);
                }
                _ if !arg.starts_with('-') => self.filters.push(arg.clone()),
                _ => self.binary_args.push(arg.clone()),
            }
        }
    }
}
