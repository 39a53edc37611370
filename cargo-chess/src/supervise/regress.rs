//! Runs the regressions of a test again, before it is explored, and judges by the search those that no longer fit.

use super::request::Mode;
use super::verdict::{Job, Verdict};
use crate::config::Exploration;
use crate::error::Result;
use crate::events::{Outcome, RegressionOutcome, RegressionRun};
use crate::regressions::{Regression, Regressions};
use crate::replay::{self, Meaning};
use crate::report::plural;

/// What the regressions of a test showed.
#[derive(Default)]
pub(super) struct Rerun<'a> {
    runs: Vec<RegressionRun>,
    /// Those under which the test does not fail, and where the program no longer follows
    /// them: a step more or less, and a schedule says something else than it did.
    others: Vec<(&'a Regression, Option<String>)>,
    /// The first failure.
    failed: Option<Verdict>,
}

/// Runs those of `job`'s test; none if `stop` said so first.
pub(super) fn rerun<'a>(
    job: Job<'_>,
    regressions: &'a Regressions,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Rerun<'a>>> {
    let mut rerun = Rerun::default();
    for regression in regressions.of_test(&job.test.id) {
        let schedule = &regression.schedule;
        let exploration = replay::layer(schedule)?.over(job.exploration.clone());
        let replay = Job {
            exploration: &exploration,
            mode: Mode::Replay {
                decisions: &schedule.decisions,
            },
            part: None,
            cores: None,
            states: None,
            ..job
        };
        let Some(verdict) = replay.run(stop, &mut |_| ())? else {
            return Ok(None);
        };
        match replay::meaning(&verdict.finished, schedule) {
            Meaning::Stale(place) => rerun.others.push((regression, Some(place))),
            Meaning::Gone => rerun.others.push((regression, None)),
            Meaning::Reproduced | Meaning::Different => {
                rerun.failed.get_or_insert(verdict);
                rerun.runs.push(RegressionRun {
                    schedule: regression.path.clone(),
                    outcome: RegressionOutcome::Failed,
                });
            }
        }
    }
    Ok(Some(rerun))
}

impl Rerun<'_> {
    /// Whether that is all there is to tell of the test: a regression fails, and nobody
    /// asked for more.
    pub(super) fn is_verdict(&self, exploration: &Exploration) -> bool {
        self.failed.is_some() && !exploration.keep_going
    }

    /// The verdict on the test, whose exploration, if there was one, ended with `explored`.
    pub(super) fn verdict(self, explored: Option<Verdict>) -> Option<Verdict> {
        let Self {
            mut runs,
            others,
            failed,
        } = self;
        let mut warnings = Vec::new();
        for (regression, stale) in others {
            let explored = explored.as_ref();
            let outcome = judge(regression, stale.is_some(), explored);
            warnings.extend(warning(regression, stale.as_deref(), outcome));
            runs.push(RegressionRun {
                schedule: regression.path.clone(),
                outcome,
            });
        }
        // A failure of the search is told before that of a regression: it names all.
        let mut verdict = match (explored, failed) {
            (Some(explored), Some(_)) if explored.finished.outcome == Outcome::Failed => explored,
            (_, Some(failed)) => failed,
            (explored, None) => explored?,
        };
        verdict.finished.regressions = runs;
        verdict.finished.warnings.append(&mut warnings);
        Some(verdict)
    }
}

/// What became of a regression under which the test does not fail any more, by what the
/// search found.
fn judge(
    Regression { schedule, .. }: &Regression,
    is_stale: bool,
    explored: Option<&Verdict>,
) -> RegressionOutcome {
    let unless_found = if is_stale {
        RegressionOutcome::Unknown
    } else {
        RegressionOutcome::Passed
    };
    let Some(Verdict { finished, .. }) = explored else {
        return unless_found;
    };
    let preemptions = schedule.preemptions.unwrap_or(u32::MAX);
    let bound = finished.bound_completed.filter(|_| !finished.is_unstable());
    let reaches = finished.complete || bound.is_some_and(|bound| bound >= preemptions);
    match replay::meaning(finished, schedule) {
        Meaning::Reproduced => RegressionOutcome::Failed,
        Meaning::Gone if is_stale && reaches && finished.part.is_none() => {
            RegressionOutcome::Searched
        }
        _ => unless_found,
    }
}

/// What the user should know of such a regression.
fn warning(
    Regression { path, schedule }: &Regression,
    stale: Option<&str>,
    outcome: RegressionOutcome,
) -> Option<String> {
    let preemptions = schedule.preemptions.unwrap_or(0);
    let schedules = plural(preemptions.into(), "preemption");
    let schedules = format!("schedules with up to {schedules}");
    let what = match outcome {
        RegressionOutcome::Passed | RegressionOutcome::Saved => return None,
        RegressionOutcome::Searched => {
            format!("none of the {schedules} fails now, so it may be removed")
        }
        RegressionOutcome::Failed => "its failure was found again: --save-regressions keeps the \
             new schedule, in whose place this one may be removed"
            .to_owned(),
        RegressionOutcome::Unknown => format!(
            "whether it is mended is not known, since not all {schedules} were explored: \
             give more --schedules"
        ),
    };
    let place = stale.map_or_else(
        || "leads the changed program elsewhere".to_owned(),
        |place| format!("no longer fits the program ({place})"),
    );
    Some(format!("the regression {path} {place}; {what}"))
}
