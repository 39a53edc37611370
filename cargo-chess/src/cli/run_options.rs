//! The flags for test selection and output, which are resolved once into [`RunOptions`].

use std::io::IsTerminal;

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};

use crate::config::Layer;
use crate::shard::Shard;
use crate::shell::Shell;

/// The format of standard output.
#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum MessageFormat {
    /// No output; the report goes to standard error.
    #[default]
    Human,
    /// One compiler-style line per failure, for editors: `FILE:LINE:COLUMN: error: ...`.
    Short,
    /// One JSON object per line.
    Json,
}

/// The use of colour in reports for people.
#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which tests to run with regard to `#[ignore]`.
#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum RunIgnored {
    /// Tests without `#[ignore]`.
    #[default]
    Default,
    /// Tests with `#[ignore]`.
    IgnoredOnly,
    /// All tests.
    All,
}

/// The result of a run without selected tests.
#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum NoTests {
    /// Exit with code 4.
    #[default]
    Fail,
    /// Exit with code 0.
    Pass,
}

/// The selection of the tests, and the course of the run.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Test selection")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct RunArgs {
    /// Filters must equal the whole path of a test
    #[arg(long)]
    pub exact: bool,
    /// Which tests to run with regard to `#[ignore]`
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    pub run_ignored: RunIgnored,
    /// Result of a run that explores no test
    #[arg(long, value_name = "ACTION", value_enum, default_value_t)]
    pub no_tests: NoTests,
    /// Run shard K of N of the tests (a part of each test if there are fewer tests than shards)
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Resume an interrupted run, and keep its verdicts
    #[arg(long)]
    pub resume: bool,
    /// Run all tests, also after a failure
    #[arg(long)]
    pub no_fail_fast: bool,
    /// Exit with code 5 if the preemption bound of a test was not finished
    #[arg(long)]
    pub require_complete: bool,
}

/// The options of the output.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub message_format: MessageFormat,
    /// When to use colour [default: the value of `CARGO_TERM_COLOR`, or auto]
    #[arg(long, value_name = "WHEN", value_enum)]
    pub color: Option<ColorWhen>,
    /// Print more; twice prints still more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print only failures and the summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// The report files of a run.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Write a report in JUnit's XML format
    #[arg(long, value_name = "FILE")]
    pub junit: Option<Utf8PathBuf>,
    /// Write the failures as a SARIF log, for code scanning services and editors
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<Utf8PathBuf>,
    /// Write a plot of the growth of coverage over the schedules, as SVG; implies --coverage
    #[arg(long, value_name = "FILE")]
    pub coverage_plot: Option<Utf8PathBuf>,
}

impl ReportArgs {
    /// The options of `layer`. If a report needs coverage and `layer` does not set `coverage`,
    /// sets `coverage` to true.
    pub(crate) fn over(&self, layer: Layer) -> Layer {
        Layer {
            coverage: layer
                .coverage
                .or(self.coverage_plot.is_some().then_some(true)),
            ..layer
        }
    }
}

impl OutputArgs {
    /// The colour setting: the flag, or else `CARGO_TERM_COLOR`, or else `auto`.
    pub(crate) fn color_when(&self) -> ColorWhen {
        self.color
            .unwrap_or_else(|| match std::env::var("CARGO_TERM_COLOR").as_deref() {
                Ok("always") => ColorWhen::Always,
                Ok("never") => ColorWhen::Never,
                _ => ColorWhen::Auto,
            })
    }

    /// Whether standard error is coloured. If the setting is `auto`, `NO_COLOR` and
    /// `CLICOLOR_FORCE` have precedence over the check of the terminal.
    fn use_color(&self) -> bool {
        let set =
            |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        match self.color_when() {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto if std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) => false,
            ColorWhen::Auto => set("CLICOLOR_FORCE") || std::io::stderr().is_terminal(),
        }
    }

    /// The shell of standard error, with the settings of these flags.
    pub(crate) fn shell(&self) -> Shell {
        Shell {
            color: self.use_color(),
            verbosity: self.verbosity(),
        }
    }

    /// -1 with `-q`, else the number of `-v` flags.
    pub(crate) fn verbosity(&self) -> i8 {
        if self.quiet {
            -1
        } else {
            i8::try_from(self.verbose).unwrap_or(i8::MAX)
        }
    }
}

/// The resolved options of a run. No flag, variable or terminal is read later.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct RunOptions {
    /// The format of standard output.
    pub message_format: MessageFormat,
    /// The report files of the run.
    pub reports: ReportArgs,
    /// Whether the output for people is coloured.
    pub color: bool,
    /// -1 quiet, 0 normal, 1 and more: verbose.
    pub verbosity: i8,
    /// The highest number of tests that are explored at once. The default is the number of the
    /// processors that the process may use.
    pub jobs: Option<usize>,
    /// Whether the run ends at the first failing test.
    pub fail_fast: bool,
    /// The filters: only tests whose path contains one of these are run. If empty, all tests are
    /// run.
    pub filters: Vec<String>,
    /// Whether `filters` and `skip` match only whole paths.
    pub exact: bool,
    /// Tests whose path contains one of these are left out.
    pub skip: Vec<String>,
    /// Which tests to run with regard to `#[ignore]`.
    pub run_ignored: RunIgnored,
    /// The shard whose tests are run; `None` for all tests.
    pub shard: Option<Shard>,
    /// Whether an interrupted run is resumed, with its verdicts.
    pub resume: bool,
    /// Whether reports contain the paths of saved schedules and the commands to replay them.
    pub print_saved: bool,
    /// The result of a run without selected tests.
    pub no_tests: NoTests,
    /// Whether an unfinished bound is an error.
    pub require_complete: bool,
    /// Whether the tests' own output is shown immediately (`-- --nocapture`).
    pub no_capture: bool,
    /// The remaining arguments after `--`.
    pub binary_args: Vec<String>,
}

impl RunOptions {
    /// The options of a run of all tests, with the settings of `output`.
    pub(crate) fn new(output: &OutputArgs, jobs: Option<u32>) -> Self {
        Self {
            message_format: output.message_format,
            reports: ReportArgs::default(),
            color: output.use_color(),
            verbosity: output.verbosity(),
            jobs: jobs.map(|jobs| jobs as usize),
            fail_fast: true,
            filters: Vec::new(),
            exact: false,
            skip: Vec::new(),
            run_ignored: RunIgnored::Default,
            shard: None,
            resume: false,
            print_saved: true,
            no_tests: NoTests::Fail,
            require_complete: false,
            no_capture: false,
            binary_args: Vec::new(),
        }
    }

    /// Whether the filters select the test at `path`.
    pub(crate) fn selects(&self, path: &str) -> bool {
        let matches = |filter: &String| {
            if self.exact {
                path == filter
            } else {
                path.contains(filter.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skip.iter().any(matches)
    }
}
