//! The turn of a test in a round. The first turn runs the regressions of the test and, in `gate`,
//! the schedules that preempt only at changed lines. Each turn then runs a slice of the test's
//! search.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::callers::Callers;
use super::columns::MarkedSources;
use super::cores::Cores;
use super::exclusion::Exclusion;
use super::gating;
use super::inputs::Inputs;
use super::list::ListedTest;
use super::pool::Done;
use super::regress::{self, Rerun};
use super::request::{Mode, Pause};
use super::resume::{Search, Verdicts};
use super::rounds::{Clock, Look, Time};
use super::test_process::{Advance, Job, Slice, States, Verdict};
use crate::config::Exploration;
use crate::error::Result;
use crate::events::Outcome;
use crate::regressions::Regressions;
use crate::shard::Shard;

/// The data that all turns of a run share.
pub(super) struct Turns<'a> {
    pub(super) inputs: Inputs<'a>,
    pub(super) tests: &'a [ListedTest],
    /// The part of each test's schedules to explore; `None` for all schedules.
    pub(super) parts: &'a [Option<Shard>],
    pub(super) explorations: &'a [Exploration],
    pub(super) regressions: &'a Regressions,
    pub(super) policies: &'a [String],
    pub(super) marked: &'a MarkedSources,
    pub(super) callers: &'a Callers,
    pub(super) verdicts: &'a Verdicts<'a>,
    pub(super) clock: &'a Clock,
    pub(super) exclusion: &'a Exclusion,
    /// The progress of each test in earlier turns.
    pub(super) tests_so_far: Vec<Mutex<SoFar<'a>>>,
}

/// The progress of a test in earlier turns.
#[derive(Default)]
pub(super) struct SoFar<'a> {
    /// The results of the test's regressions, after their run.
    rerun: Option<Rerun<'a>>,
    /// Whether the search that preempts only at changed lines has ended.
    near: bool,
    /// The storage of the test's search.
    search: Option<Search<'a>>,
    /// The time of the test's slices so far.
    spent: Duration,
    /// The part of `spent` that counts for the test's own limit. A slice whose state was lost does
    /// not count, because the next slice repeats its work.
    counted: Duration,
}

/// The test and the round of a turn.
#[derive(Clone, Copy)]
pub(super) struct Which<'a> {
    /// The test.
    pub(super) test: usize,
    /// The number of the round.
    pub(super) round: usize,
    /// The moment at which the test pauses; `None` if it runs to its end.
    pub(super) pause: Option<Pause>,
    /// The cores for the tests of the round.
    pub(super) cores: &'a Cores,
}

impl<'a> Turns<'a> {
    /// The progress of `tests` tests before their first turn.
    pub(super) fn nothing_so_far(tests: usize) -> Vec<Mutex<SoFar<'a>>> {
        (0..tests).map(|_| Mutex::default()).collect()
    }

    /// Runs a test's turn. Returns `None` if `stop` returned true first.
    pub(super) fn take(
        &'a self,
        which: Which<'_>,
        stop: &dyn Fn() -> bool,
        on_advance: &mut dyn FnMut(Advance),
    ) -> Result<Option<Done>> {
        let Which {
            test: index,
            round,
            pause,
            cores,
        } = which;
        let so_far = &self.tests_so_far[index];
        // A test has at most one turn in progress.
        let so_far = &mut *so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let options = self.inputs.options;
        let own = &self.explorations[index];
        let time = self.clock.slice(
            own.time_limit(),
            so_far.counted,
            round == 0 && which.pause.is_some(),
        );
        let exploration = Exploration {
            time: time.limit,
            ..own.clone()
        };
        let job = Job {
            test: &self.tests[index],
            binary: &self.inputs.build.binaries[self.tests[index].binary],
            exploration: &exploration,
            part: self.parts[index],
            mode: Mode::Explore,
            policies: self.policies,
            preempt_at: &[],
            marked: self.marked,
            callers: self.callers,
            no_capture: options.no_capture,
            binary_args: &options.binary_args,
            cores: Some((cores, index)),
            exclusion: Some((self.exclusion, index)),
            states: None,
            slice: None,
            live: None,
        };
        if so_far.rerun.is_none() {
            let rerun = regress::rerun(&job, self.regressions, self.inputs.plan, stop)?;
            let Some(rerun) = rerun else {
                return Ok(None);
            };
            so_far.rerun = Some(rerun);
        }
        let over = |so_far: &mut SoFar<'_>, verdict| {
            let rerun = so_far.rerun.take().unwrap_or_default();
            Ok(rerun.verdict(verdict).map(Box::new).map(Done::Over))
        };
        if so_far.rerun.as_ref().is_some_and(|it| it.is_verdict(own)) {
            return over(so_far, None);
        }
        if let Some((looks, verdict)) = self.verdicts.earlier(index) {
            return match looks.get(round).filter(|_| pause.is_some()) {
                Some(look) => Ok(Some(Done::Paused(*look, Box::new(verdict.clone())))),
                None => over(so_far, Some(verdict.clone())),
            };
        }
        if let Some(verdict) = self.verdicts.result(index) {
            return over(so_far, Some(verdict));
        }
        let changed = self.inputs.gating.map_or(&[][..], |gating| &gating.changed);
        if !so_far.near && !changed.is_empty() {
            let Some(near) = gating::changed_first(&job, changed, stop)? else {
                return Ok(None);
            };
            so_far.near = true;
            if near.finished.outcome == Outcome::Failed {
                return over(so_far, Some(near));
            }
        }
        if so_far.search.is_none() {
            so_far.search = self.verdicts.search(index);
        }
        match self.explore(which, &job, time, so_far, stop, on_advance)? {
            Some(verdict) if verdict.finished.paused => {
                let look = match so_far.search.as_ref().and_then(|it| it.paused(round)) {
                    Some((look, _)) => look,
                    None => Look::of(&verdict.finished),
                };
                Ok(Some(Done::Paused(look, Box::new(verdict))))
            }
            Some(verdict) => over(so_far, Some(verdict)),
            None => Ok(None),
        }
    }

    /// Explores a slice of a test. Returns the verdict so far.
    fn explore(
        &self,
        which: Which<'_>,
        job: &Job<'_>,
        time: Time,
        so_far: &mut SoFar<'_>,
        stop: &dyn Fn() -> bool,
        on_advance: &mut dyn FnMut(Advance),
    ) -> Result<Option<Verdict>> {
        let search = so_far.search.as_ref();
        let earlier = search.and_then(|search| search.paused(which.round));
        if let Some((_, verdict)) = earlier.filter(|_| which.pause.is_some()) {
            (so_far.spent, so_far.counted) = (verdict.duration, verdict.duration);
            return Ok(Some(verdict));
        }
        let slice = Slice {
            pause: which.pause,
            time: time.limit,
        };
        let job = Job {
            states: search.map(|search| search as &dyn States),
            slice: Some(slice),
            ..*job
        };
        let Some(mut verdict) = job.run(stop, on_advance)? else {
            return Ok(None);
        };
        so_far.counted += if verdict.finished.lost {
            Duration::ZERO
        } else {
            verdict.duration
        };
        verdict.duration += so_far.spent;
        so_far.spent = verdict.duration;
        if time.is_of_run && verdict.finished.was_out_of_time() {
            self.clock.end();
            if verdict.finished.outcome == Outcome::Timeout {
                return Ok(None);
            }
            verdict.finished.pause();
        } else if let Some(search) = search.filter(|_| !verdict.finished.paused) {
            search.end(&verdict);
        }
        Ok(Some(verdict))
    }
}
