//! Reruns the regressions of a test before its exploration.
//!
//! If the test does not fail under a regression and the program has changed, a search looks for
//! the failure near the regression's preemptions. If this search does not find the failure, the
//! exploration of the test decides the outcome of the regression.

use super::replay_result::{ReplayResult, replay_result};
use super::request::Mode;
use super::stage::options_of;
use super::test_process::{Job, Verdict};
use crate::config::{Exploration, MemoryAccesses, Races, Spins, Spurious, Strategy, Timers};
use crate::error::Result;
use crate::events::{Kind, Outcome, RegressionOutcome, RegressionRun};
use crate::plan::Plan;
use crate::regressions::{Regression, Regressions, lines};
use crate::schedule::Schedule;
use crate::text::plural;

/// The highest number of schedules of the search near a regression's preemptions. This search runs
/// before the exploration of the test.
const SCHEDULES: u64 = 10_000;

/// The results of the regressions of a test.
#[derive(Default)]
pub(super) struct Rerun<'a> {
    runs: Vec<RegressionRun>,
    warnings: Vec<String>,
    /// The regressions under which the test does not fail now, although the program may still have
    /// the failure: its sources may have changed, and one step more or less changes the meaning of
    /// a schedule. The text is the place at which the program no longer follows the schedule. It
    /// is `None` if the program follows the schedule to its end.
    others: Vec<(&'a Regression, Option<String>)>,
    /// The verdict of the first regression that failed.
    failed: Option<Verdict>,
}

/// Runs the regressions of `job`'s test. Returns `None` if `stop` returned true first.
pub(super) fn rerun<'a>(
    job: &Job<'_>,
    regressions: &'a Regressions,
    plan: &Plan,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Rerun<'a>>> {
    let mut rerun = Rerun::default();
    let job = Job {
        part: None,
        cores: None,
        states: None,
        slice: None,
        live: None,
        ..*job
    };
    for regression in regressions.of_test(&job.test.id) {
        let schedule = &regression.schedule;
        if let Some(option) = kind_that_is_off(schedule, job.exploration) {
            rerun.skip(regression, option);
            continue;
        }
        let mut exploration = options_of(schedule)?.over(job.exploration.clone());
        let off = choice_that_is_off(&mut exploration, job.exploration);
        let replay = Job {
            exploration: &exploration,
            mode: Mode::Replay {
                decisions: &schedule.decisions,
                points: &schedule.points,
                intended: &schedule.intended,
                is_endless: schedule.is_endless(regressions.sources != schedule.sources),
            },
            ..job
        };
        let Some(verdict) = replay.run(stop, &mut |_| ())? else {
            return Ok(None);
        };
        let result = replay_result(&verdict.finished, schedule);
        if let (Some(option), ReplayResult::Stale(_)) = (off, &result) {
            rerun.skip(regression, option);
            continue;
        }
        let stale = match result {
            ReplayResult::Reproduced | ReplayResult::Different => {
                rerun.add_run(regression, RegressionOutcome::Failed);
                rerun.failed.get_or_insert(verdict);
                continue;
            }
            ReplayResult::Stale(misfit) => Some(misfit.decision),
            ReplayResult::Gone => None,
        };
        if stale.is_none() && regressions.sources == schedule.sources {
            rerun.add_run(regression, RegressionOutcome::Passed);
            continue;
        }
        let lines = lines::current_places(&plan.workspace_root, &schedule.preempted_at);
        if !lines.is_empty() {
            let own = job.exploration.schedules;
            let near = Exploration {
                strategy: vec![Strategy::Icb],
                preemptions: schedule.preemptions.unwrap_or(0),
                schedules: Some(own.map_or(SCHEDULES, |own| own.min(SCHEDULES))),
                work: job.exploration.work,
                time: job.exploration.time,
                keep_going: false,
                ..exploration
            };
            let search = Job {
                exploration: &near,
                preempt_at: &lines,
                ..job
            };
            let Some(mut verdict) = search.run(stop, &mut |_| ())? else {
                return Ok(None);
            };
            if replay_result(&verdict.finished, schedule) == ReplayResult::Reproduced {
                // This search covers only a part of the schedules, so it completes no bound.
                verdict.finished.bound_completed = None;
                verdict.finished.delays_completed = None;
                verdict.finished.complete = false;
                rerun.warn(regression, stale.as_deref(), RegressionOutcome::Refound);
                rerun.add_run(regression, RegressionOutcome::Refound);
                rerun.failed.get_or_insert(verdict);
                continue;
            }
        }
        rerun.others.push((regression, stale));
    }
    Ok(Some(rerun))
}

impl Rerun<'_> {
    /// Whether the rerun decides the verdict: a regression fails, and `keep-going` is off.
    pub(super) fn is_verdict(&self, exploration: &Exploration) -> bool {
        self.failed.is_some() && !exploration.keep_going
    }

    /// Returns the verdict on the test: `explored`, which is the verdict of the exploration, or
    /// the verdict of a failed regression. Returns `None` if there is neither.
    pub(super) fn verdict(mut self, explored: Option<Verdict>) -> Option<Verdict> {
        for (regression, stale) in core::mem::take(&mut self.others) {
            let outcome = judge(regression, stale.is_some(), explored.as_ref());
            self.warn(regression, stale.as_deref(), outcome);
            self.add_run(regression, outcome);
        }
        // A failure of the exploration has precedence over the failure of a regression, because
        // the exploration lists all failures.
        let mut verdict = match (explored, self.failed) {
            (Some(explored), Some(_)) if explored.finished.outcome == Outcome::Failed => explored,
            (_, Some(failed)) => failed,
            (explored, None) => explored?,
        };
        verdict.finished.regressions = self.runs;
        verdict.finished.own_warnings.append(&mut self.warnings);
        Some(verdict)
    }

    fn add_run(&mut self, regression: &Regression, outcome: RegressionOutcome) {
        self.runs.push(RegressionRun {
            schedule: regression.path.clone(),
            outcome,
        });
    }

    /// Skips a regression, because it needs `option`, which is off.
    fn skip(&mut self, regression: &Regression, option: &str) {
        self.warnings.push(format!(
            "the regression {} was skipped: it needs {option}. Set this option again, or \
             remove the file",
            regression.path
        ));
        self.add_run(regression, RegressionOutcome::Skipped);
    }

    /// Adds a warning about a regression under which the changed program does not fail.
    fn warn(&mut self, regression: &Regression, stale: Option<&str>, outcome: RegressionOutcome) {
        let preemptions = regression.schedule.preemptions.unwrap_or(0);
        if let Some(words) = words(&regression.path, preemptions, stale, outcome) {
            self.warnings.push(words);
        }
    }
}

/// The option without which failures of the schedule's kind are not reported, if this option is
/// off in `now`.
fn kind_that_is_off(schedule: &Schedule, now: &Exploration) -> Option<&'static str> {
    let ignores = now.memory_accesses == MemoryAccesses::Ignore;
    match schedule.kind {
        Kind::Leak if !now.leaks => Some("`leaks = true`"),
        Kind::Race if now.races != Races::Deny => Some("`races = \"deny\"`"),
        Kind::Race if ignores => Some("another `memory-accesses` than \"ignore\""),
        Kind::Spin if now.spins != Spins::Deny => Some("`spins = \"deny\"`"),
        _ => None,
    }
}

/// Turns off the spurious events, early timeouts and faults of `replay` that are off in `now`.
/// Returns the last option that was changed, if there is one. The schedule may need such events:
/// without them, it may not fit the program.
fn choice_that_is_off(replay: &mut Exploration, now: &Exploration) -> Option<&'static str> {
    let mut off = None;
    if (replay.spurious, now.spurious) == (Spurious::Any, Spurious::Never) {
        replay.spurious = Spurious::Never;
        off = Some("`spurious = \"any\"`");
    }
    if (replay.timers, now.timers) == (Timers::Any, Timers::Last) {
        replay.timers = Timers::Last;
        off = Some("`timers = \"any\"`");
    }
    if !replay.faults.iter().all(|it| now.faults.contains(it)) {
        replay.faults.clone_from(&now.faults);
        off = Some("the `faults` of the schedule");
    }
    off
}

/// The warning about the regression at `path`, if its outcome needs one. `stale` is the decision of
/// the schedule that no longer fits the program, in words.
fn words(
    path: &str,
    preemptions: u32,
    stale: Option<&str>,
    outcome: RegressionOutcome,
) -> Option<String> {
    let schedules = plural(preemptions.into(), "preemption");
    let schedules = format!("schedules with up to {schedules}");
    let what = match outcome {
        RegressionOutcome::Searched => {
            format!("none of the {schedules} fails now, so the regression can be removed")
        }
        RegressionOutcome::Refound => "another schedule has the same failure: \
             --save-regressions saves that schedule, and then this regression can be removed"
            .to_owned(),
        RegressionOutcome::Unknown => format!(
            "it is unknown whether the failure is fixed, because not all {schedules} were \
             explored: use more --work or --schedules"
        ),
        RegressionOutcome::Failed
        | RegressionOutcome::Passed
        | RegressionOutcome::Skipped
        | RegressionOutcome::Saved => {
            return None;
        }
    };
    let place = stale.map_or_else(
        || "does not fail in the changed program".to_owned(),
        |place| format!("no longer fits the program ({place})"),
    );
    Some(format!("the regression {path} {place}; {what}"))
}

/// The outcome of a regression under which the test does not fail now. `is_stale` is true if the
/// program no longer follows the schedule. `explored` is the verdict of the test's exploration.
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
    match replay_result(finished, schedule) {
        ReplayResult::Reproduced => RegressionOutcome::Refound,
        ReplayResult::Gone if is_stale && reaches && finished.part.is_none() => {
            RegressionOutcome::Searched
        }
        _ => unless_found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regression_that_no_longer_fails_is_reported_with_a_remedy() {
        let said = |stale, outcome| words("k.chess", 1, stale, outcome);
        let all = [
            said(
                Some("at decision 3, the schedule chooses task 2, which is not possible there"),
                RegressionOutcome::Searched,
            ),
            said(None, RegressionOutcome::Refound),
            said(None, RegressionOutcome::Unknown),
        ];
        insta::assert_snapshot!(all.map(Option::unwrap_or_default).join("\n"), @r"
        the regression k.chess no longer fits the program (at decision 3, the schedule chooses task 2, which is not possible there); none of the schedules with up to 1 preemption fails now, so the regression can be removed
        the regression k.chess does not fail in the changed program; another schedule has the same failure: --save-regressions saves that schedule, and then this regression can be removed
        the regression k.chess does not fail in the changed program; it is unknown whether the failure is fixed, because not all schedules with up to 1 preemption were explored: use more --work or --schedules
        ");
        assert_eq!(said(None, RegressionOutcome::Failed), None);
    }
}
