//! `cargo chess test` from the built binaries to the exit code.

use std::time::{Duration, Instant};

use super::control;
use super::gating::Gating;
use super::list::{ignored, list, select};
use super::milestones::Milestones;
use super::part;
use super::resume;
use super::rounds::Rounds;
use super::saving::Saving;
use super::session::Session;
use super::tally::Tally;
use crate::build::Build;
use crate::cli::{NoTests, RunOptions};
use crate::config::{Config, Exploration};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::journal::Claimed;
use crate::plan::Plan;
use crate::regressions::Regressions;
use crate::report::{Live, Record, Reporter};
use crate::shell::Shell;
use crate::text::thousands;

/// The inputs of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
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
    /// The interrupt of Ctrl-C.
    pub interrupt: &'a Interrupt,
}

impl Run<'_> {
    /// The time limit of the explorations of all tests together.
    pub(super) fn time_total(&self) -> Option<Duration> {
        let budget = self.gating.and_then(|gating| gating.budget);
        budget.or(self.config.for_test("").time_total)
    }
}

/// Explores the selected tests and returns the exit code.
///
/// Every result is sent to `reporter` and written to `target/chess/last-run.jsonl`; failing
/// schedules are saved.
pub fn run(run: Run<'_>, reporter: &mut dyn Reporter) -> Result<u8> {
    super::adopt_orphans();
    let found = list(&run.build.binaries, run.interrupt)?;
    // A filter may match tests of targets that were not built.
    if run.build.is_of_all_targets(run.plan) {
        let paths = found.iter().map(|test| test.id.test.as_str());
        for warning in run.config.unmatched_filters(paths) {
            shell(run.options).config_warning(&warning);
        }
    }
    let regressions = Regressions::of(run.plan, run.build)?;
    let orphans = regressions.orphans(run.plan, run.build, |id| {
        found.iter().any(|test| test.id == *id)
    });
    let found_count = found.len();
    let mut ignored = ignored(&found, run.options);
    let all = select(found, run.options);
    if all.is_empty() && run.options.no_tests == NoTests::Fail {
        return Err(nothing_selected(run.options, found_count, ignored.len()));
    }
    let (mut tests, mut parts) = (all.clone(), vec![None; all.len()]);
    let mut part = None;
    if let Some(shard) = run.options.shard {
        part = Some(part::part(&run, shard, &all)?);
        ignored = shard.part_of(ignored);
        let dealt = shard.deal(tests, part::is_divided(&run, shard, &all));
        (tests, parts) = dealt.into_iter().unzip();
    }
    let explorations: Vec<Exploration> = tests
        .iter()
        .map(|test| run.config.for_test(&test.id.test))
        .collect();

    let claimed = Claimed::of(&run.plan.run_dir).map_err(Error::io(
        "keep the states of searches in",
        &run.plan.run_dir,
    ))?;
    let mut session = Session {
        run,
        claimed: &claimed,
        part,
        all: &all,
        tests: &tests,
        parts: &parts,
        explorations: &explorations,
        regressions: &regressions,
        reporter,
        record: Record::create(&run.plan.run_dir)?,
        live: Live::new(tests.len(), run.time_total()),
        rounds: Rounds::new(&explorations),
        saving: Saving::new(run),
        tally: Tally::default(),
        milestones: Milestones::default(),
        telling: None,
        stop: None,
        hung_up: false,
        start: Instant::now(),
    };
    let warnings = control::warnings(run.plan, run.build);
    for warning in warnings.iter().chain(&orphans) {
        session.reporter.warn(warning);
    }
    let ended = session
        .start()
        .and_then(|()| session.skip(&ignored))
        .and_then(|()| session.explore());
    if session.hung_up {
        return Ok(session.exit_code());
    }
    session.finish()?;
    ended?;
    if session.tally.is_whole() {
        resume::forget(&claimed, &tests);
    }
    session.verdict()
}

pub(super) fn shell(options: &RunOptions) -> Shell {
    Shell {
        color: options.color,
        verbosity: options.verbosity,
    }
}

fn nothing_selected(options: &RunOptions, found: usize, ignored: usize) -> Error {
    let next = "--no-tests pass makes this a success.";
    let filters = options
        .filters
        .iter()
        .map(|filter| format!("`{filter}`"))
        .collect::<Vec<_>>()
        .join(" or ");
    let all = thousands(found as u64);
    Error::NothingSelected(match found {
        0 => format!("no tests were found in what was built.\n{next}"),
        _ if options.filters.is_empty() => format!(
            "none of the {all} tests found is to run; see --run-ignored for those marked `#[ignore]`.\n{next}"
        ),
        _ if ignored > 0 => format!(
            "every test that matches {filters} is marked `#[ignore]`; --run-ignored all explores it too.\n{next}"
        ),
        _ => {
            format!("no test matches {filters}, of {all} found: see `cargo chess list`.\n{next}")
        }
    })
}
