//! The inputs of a run: the built tests, and the options.

use std::time::Duration;

use super::gating::Gating;
use crate::build::Build;
use crate::cli::RunOptions;
use crate::config::Config;
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::shell::Shell;

/// The inputs of a run.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// Directories and policies.
    pub plan: &'a Plan,
    /// The options of each test.
    pub config: &'a Config,
    /// The test binaries.
    pub build: &'a Build,
    /// Cargo's flags that changed the build. They are saved with schedules.
    pub cargo_flags: &'a str,
    /// The selection of the tests, and the number of tests that run at once.
    pub options: &'a RunOptions,
    /// The options of `gate`, if this is a run of `gate`.
    pub gating: Option<&'a Gating>,
    /// Reports that the user has pressed Ctrl-C.
    pub interrupt: &'a Interrupt,
}

impl Inputs<'_> {
    /// The time limit of the explorations of all tests together.
    pub(super) fn time_total(&self) -> Option<Duration> {
        let budget = self.gating.and_then(|gating| gating.budget);
        budget.or(self.config.for_test("").time_total)
    }

    /// The output of the run.
    pub(super) fn shell(&self) -> Shell {
        Shell {
            color: self.options.color,
            verbosity: self.options.verbosity,
        }
    }
}
