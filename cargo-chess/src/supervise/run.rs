//! A run in progress: explores its tests, and reports and stores the result of each.
//!
//! The states follow one another in [`run`]: select, start, skip, explore, finish.

use std::io;
use std::time::{Duration, Instant};

use super::callers::Callers;
use super::columns::MarkedSources;
use super::control_warnings;
use super::cores::Cores;
use super::exclusion::Exclusion;
use super::inputs::Inputs;
use super::list::{ListedTest, ignored, list, select};
use super::milestones::Milestones;
use super::pool::{self, Listener, Moment, News};
use super::resume::{self, Verdicts};
use super::rounds::{Clock, Rounds};
use super::saving::Saving;
use super::shard_report;
use super::tally::Tally;
use super::test_process::Verdict;
use super::turn::{Turns, Which};
use super::uncontrolled;
use crate::analysis::Detail;
use crate::cli::{NoTests, RunOptions};
use crate::config::Exploration;
use crate::error::{Error, Result, exit_code};
use crate::events::{
    Event, NOT_EXPLORED, Outcome, Progress, RegressionRun, RunStarted, Stop, TestId, TestOptions,
    millis,
};
use crate::journal::Claimed;
use crate::protocol::{Finished, Milestone};
use crate::regressions::{self, Regressions};
use crate::report::{LastRun, Objects, Pointers, Reporter, RunState};
use crate::shard::{Part, Shard};
use crate::text::thousands;

/// The reason why `--resume` finds no earlier run.
const IN_USE: &str = "another process of cargo chess explores tests of this project, and uses the journal: this run \
     begins anew. To resume an earlier run, wait until that process has ended";

/// The state of a run in progress. Its one owner is [`run`].
struct Run<'a> {
    inputs: Inputs<'a>,
    /// The storage of the states of searches.
    claimed: &'a Claimed,
    /// With `--shard`, the part of the whole run that this run explores.
    part: Option<Part>,
    /// The selected tests of all shards.
    all: &'a [ListedTest],
    tests: &'a [ListedTest],
    /// The part of each test's schedules to explore; `None` for all schedules.
    parts: &'a [Option<Shard>],
    explorations: &'a [Exploration],
    regressions: &'a Regressions,
    reporter: &'a mut dyn Reporter,
    record: LastRun,
    state: RunState,
    saving: Saving<'a>,
    tally: Tally,
    /// The tests, and their progress through the rounds.
    rounds: Rounds<'a>,
    /// The milestones of the test that is being reported.
    milestones: Milestones,
    /// The test that is being reported.
    being_reported: Option<usize>,
    /// If the run ended before the end of the exploration of the test in `being_reported`: the
    /// last stage (the look or a round) that this test finished.
    stop: Option<Stop>,
    /// Whether the consumer of standard output has closed it.
    hung_up: bool,
    start: Instant,
}

/// Explores the tests that `inputs` select, and returns the exit code.
///
/// Every result is sent to `reporter` and written to `target/chess/last-run.jsonl`; failing
/// schedules are saved.
pub(crate) fn run(inputs: Inputs<'_>, reporter: &mut dyn Reporter) -> Result<u8> {
    super::adopt_orphans();
    let found = list(&inputs.build.binaries, inputs.interrupt)?;
    // A filter may match tests of targets that were not built.
    if inputs.build.is_of_all_targets(inputs.plan) {
        let paths = found.iter().map(|test| test.id.test.as_str());
        for warning in inputs.config.unmatched_filters(paths) {
            inputs.shell().config_warning(&warning);
        }
    }
    let regressions = Regressions::of(inputs.plan, inputs.build)?;
    let orphans = regressions.orphans(inputs.plan, inputs.build, |id| {
        found.iter().any(|test| test.id == *id)
    });
    let found_count = found.len();
    let mut ignored = ignored(&found, inputs.options);
    let all = select(found, inputs.options);
    if all.is_empty() && inputs.options.no_tests == NoTests::Fail {
        return Err(nothing_selected(inputs.options, found_count, ignored.len()));
    }
    let (mut tests, mut parts) = (all.clone(), vec![None; all.len()]);
    let mut part = None;
    if let Some(shard) = inputs.options.shard {
        part = Some(shard_report::part(&inputs, shard, &all)?);
        ignored = shard.part_of(ignored);
        let dealt = shard.deal(tests, shard_report::is_divided(&inputs, shard, &all));
        (tests, parts) = dealt.into_iter().unzip();
    }
    let explorations: Vec<Exploration> = tests
        .iter()
        .map(|test| inputs.config.for_test(&test.id.test))
        .collect();

    let claimed = Claimed::of(&inputs.plan.run_dir).map_err(Error::io(
        "keep the states of searches in",
        &inputs.plan.run_dir,
    ))?;
    let mut run = Run {
        inputs,
        claimed: &claimed,
        part,
        all: &all,
        tests: &tests,
        parts: &parts,
        explorations: &explorations,
        regressions: &regressions,
        reporter,
        record: LastRun::create(&inputs.plan.run_dir)?,
        state: RunState::new(tests.len(), inputs.time_total()),
        rounds: Rounds::new(&explorations),
        saving: Saving::new(inputs),
        tally: Tally::default(),
        milestones: Milestones::default(),
        being_reported: None,
        stop: None,
        hung_up: false,
        start: Instant::now(),
    };
    let warnings = control_warnings::warnings(inputs.plan, inputs.build);
    for warning in warnings.iter().chain(&orphans) {
        run.reporter.warn(warning);
    }
    let ended = run
        .start()
        .and_then(|()| run.skip(&ignored))
        .and_then(|()| run.explore());
    if run.hung_up {
        return Ok(run.exit_code());
    }
    run.finish()?;
    ended?;
    if run.tally.is_whole() {
        resume::forget(&claimed, &tests);
    }
    run.verdict()
}

fn nothing_selected(options: &RunOptions, found: usize, ignored: usize) -> Error {
    let next = "Use `--no-tests pass` if a run without tests is no error.";
    let filters = options
        .filters
        .iter()
        .map(|filter| format!("`{filter}`"))
        .collect::<Vec<_>>()
        .join(" or ");
    let all = thousands(found as u64);
    Error::NothingSelected(match found {
        0 => format!("the selected targets have no tests.\n{next}"),
        1 if options.filters.is_empty() && ignored == 1 => {
            format!("the only test is marked `#[ignore]`: `--run-ignored all` explores it.\n{next}")
        }
        _ if options.filters.is_empty() && ignored == found => format!(
            "all {all} tests are marked `#[ignore]`: `--run-ignored all` explores them.\n{next}"
        ),
        _ if options.filters.is_empty() => format!(
            "none of the {all} tests is selected: `--run-ignored` decides whether tests marked `#[ignore]` are.\n{next}"
        ),
        _ if ignored > 0 => format!(
            "every test that matches {filters} is marked `#[ignore]`: `--run-ignored all` explores it too.\n{next}"
        ),
        _ => {
            format!(
                "no test matches {filters}: `cargo chess list` prints the paths of all tests ({all} in this build).\n{next}"
            )
        }
    })
}

impl Run<'_> {
    fn start(&mut self) -> Result<()> {
        let base = self.inputs.config.for_test("");
        let started = Event::RunStarted(RunStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tests: self.tests.len(),
            binaries: shard_report::binaries(self.tests),
            seed: base.seed,
            strategy: base.strategy.iter().map(ToString::to_string).collect(),
            preemptions: base.preemptions,
            schedules: base.schedules,
            work: base.work,
            max_steps: base.max_steps,
            shard: self.part.clone(),
        });
        self.report(&started, None)
    }

    /// Reports the tests marked `#[ignore]` first, because they take no time.
    fn skip(&mut self, ignored: &[TestId]) -> Result<()> {
        for test in ignored {
            self.tally.add_ignored();
            let verdict = Finished {
                message: Some("marked `#[ignore]`: `--run-ignored all` explores it too".to_owned()),
                seed: self.inputs.config.for_test(&test.test).seed,
                ..Finished::new(Outcome::Skipped)
            };
            let event = verdict.to_event(test, Duration::ZERO, Vec::new());
            self.report(&Event::TestStarted(test.clone()), None)?;
            self.report(&Event::TestFinished(Box::new(event)), None)?;
        }
        Ok(())
    }

    fn explore(&mut self) -> Result<()> {
        let Inputs {
            plan,
            build,
            options,
            interrupt,
            ..
        } = self.inputs;
        let tests = self.tests;
        let mut policies = plan.policy_lines(&build.generated);
        if self.explorations.iter().any(|it| !it.faults.is_empty()) {
            policies.extend(plan.faultless_lines()?);
        }
        let marked = MarkedSources::new(plan, build);
        let callers = Callers::new(plan);
        let mut verdicts = Verdicts::new(
            self.claimed,
            &build.binaries,
            tests,
            self.explorations,
            self.parts,
            &policies,
            &options.binary_args,
        );
        if self.inputs.gating.is_some_and(|gating| gating.use_results) {
            verdicts = verdicts.with_results(plan);
        }
        self.resume_or_begin(&mut verdicts);
        let exclusion = Exclusion::new(tests.iter().map(|test| &test.id), &plan.run_dir);
        let clock = Clock::start(self.inputs.time_total());
        let turns = Turns {
            inputs: self.inputs,
            tests,
            parts: self.parts,
            explorations: self.explorations,
            regressions: self.regressions,
            policies: &policies,
            marked: &marked,
            callers: &callers,
            verdicts: &verdicts,
            clock: &clock,
            exclusion: &exclusion,
            tests_so_far: Turns::nothing_so_far(tests.len()),
        };
        let ended = loop {
            let order = self.rounds.turns();
            if order.is_empty() {
                break Ok(());
            }
            let round = self.rounds.round();
            let pause = self.rounds.pause();
            let cores = Cores::new(options.jobs, order.len());
            let work = |test: usize, stop: &dyn Fn() -> bool, on_advance: &mut dyn FnMut(_)| {
                let which = Which {
                    test,
                    round,
                    pause,
                    cores: &cores,
                };
                turns.take(which, stop, on_advance)
            };
            // The first round ignores the time limit of the run, so that each test is explored a
            // little.
            let is_over = || round > 0 && clock.is_over();
            match pool::run(&order, &cores, interrupt, &is_over, &work, self) {
                Ok(true) => self.rounds.next(),
                Ok(false) => break self.report_stopped(),
                Err(error) => break Err(error),
            }
        };
        exclusion.keep(&plan.run_dir);
        for warning in exclusion.warnings().into_iter().chain(verdicts.warning()) {
            self.reporter.warn(&warning);
        }
        ended
    }

    /// Reports the partial results of all tests that had a turn and are not reported yet. The run
    /// ends before their explorations are complete.
    fn report_stopped(&mut self) -> Result<()> {
        let mut stopped = self.rounds.stopped();
        // A test whose report has begun comes first.
        stopped.sort_by_key(|(test, ..)| self.being_reported != Some(*test));
        for (test, verdict, stop) in stopped {
            self.stop = stop;
            if self.being_reported != Some(test) {
                self.news(News::Started(test))?;
            }
            self.news(News::Finished(test, Box::new(verdict)))?;
        }
        Ok(())
    }

    /// Resumes the earlier run, if `--resume` is given.
    fn resume_or_begin(&mut self, verdicts: &mut Verdicts<'_>) {
        if !self.inputs.options.resume {
            verdicts.begin();
            return;
        }
        if !self.claimed.lasts() {
            self.reporter.warn(IN_USE);
        }
        let (taken, warnings) = verdicts.resume();
        let text = format!("with {taken} of the earlier run");
        self.inputs.shell().status("Resuming", text);
        for warning in warnings {
            self.reporter.warn(&warning);
        }
    }

    /// Reports the end of the run, for every kind of end.
    fn finish(&mut self) -> Result<()> {
        self.tally.end(self.tests.len());
        let counts = &mut self.tally.counts;
        counts.interrupted = self.inputs.interrupt.requested();
        counts.duration_ms = millis(self.start.elapsed());
        let finished = Event::RunFinished(counts.clone());
        match self.report(&finished, None) {
            Err(Error::Interrupted) if self.hung_up => Ok(()),
            result => result,
        }
    }

    /// The exit code, or the error that determines it.
    fn verdict(&self) -> Result<u8> {
        let code = self.exit_code();
        let options = self.inputs.options;
        if code != exit_code::OK || self.all.is_empty() {
            return Ok(code);
        }
        // A single shard without tests under control is not an error.
        let is_outside = |test: &ListedTest| test.not_explored.is_some();
        if self.all.iter().all(is_outside) && options.no_tests == NoTests::Fail {
            return Err(uncontrolled::error(self.all));
        }
        if options.require_complete {
            self.tally.require_complete()?;
        }
        Ok(code)
    }

    fn exit_code(&self) -> u8 {
        if self.inputs.interrupt.requested() {
            exit_code::INTERRUPTED
        } else {
            self.tally.exit_code()
        }
    }

    fn progress(&mut self, index: usize, schedules: u64, milestones: &[Milestone]) -> Result<()> {
        for (schedules, milestone) in self.milestones.passed(schedules, milestones) {
            let id = self.tests[index].id.clone();
            let progress = Event::Progress(Progress {
                package: id.package,
                binary: id.binary,
                test: id.test,
                schedules,
                bound: milestone.bound,
                #[expect(clippy::cast_precision_loss, reason = "at most a million")]
                estimate: milestone.explored.map(|millionths| millionths as f64 / 1e6),
            });
            self.report(&progress, None)?;
        }
        Ok(())
    }

    fn finished(&mut self, index: usize, verdict: Verdict) -> Result<()> {
        let test = &self.tests[index];
        let exploration = &self.explorations[index];
        let (finished, saving) = (&verdict.finished, &mut self.saving);
        let (path, schedule) = saving.save_first(test, exploration, finished)?.unzip();
        let others = finished.others.iter();
        let others = others.map(|other| saving.save(test, exploration, finished, other));
        let (other_paths, other_schedules): (Vec<_>, Vec<_>) =
            others.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let mut kept = Vec::new();
        if exploration.save_regressions && finished.outcome != Outcome::Timing {
            let first = schedule
                .iter()
                .map(|schedule| (schedule, &*finished.events));
            // No execution is recorded for the other failures.
            let others = other_schedules.iter().map(|schedule| (schedule, &[][..]));
            let found = first.chain(others);
            for (schedule, events) in found.filter(|(it, _)| !self.regressions.have(it)) {
                kept.extend(regressions::keep(self.inputs.plan, schedule, events)?);
            }
        }
        let Verdict {
            mut finished,
            stderr,
            duration,
        } = verdict;
        let generated = &self.inputs.build.generated;
        let atomic = self.inputs.plan.packages_of(&finished.atomic, generated);
        let mut event = finished.to_event(&test.id, duration, atomic);
        let spins = finished.spins.iter().map(|spin| {
            let location = spin.location.as_ref();
            let package = location
                .and_then(|location| self.inputs.plan.dependency_of(&location.file, generated));
            spin.warning(package.as_deref())
        });
        let stale = finished.stale_loads.iter().map(|stale| {
            let file = &stale.location.file;
            let package = self.inputs.plan.dependency_of(file, generated);
            stale.warning(package.as_deref())
        });
        event.warnings.extend(spins.chain(stale));
        event.racing = self
            .inputs
            .plan
            .dependencies_of(&finished.racing, generated);
        for (effect, sentence) in finished.outside.iter().zip(&mut event.outside) {
            let packages = control_warnings::of_effect(effect, self.inputs.plan, self.inputs.build);
            sentence.push_str(&packages);
        }
        event.schedule = path;
        event.stopped = self.stop.take();
        let kept = kept.into_iter().map(RegressionRun::saved);
        event.regressions.extend(kept);
        let options = TestOptions::of(exploration);
        for (other, path) in event.other_failures.iter_mut().zip(other_paths) {
            other.schedule = Some(path);
        }
        if test.not_explored.is_some() {
            NOT_EXPLORED.clone_into(&mut event.coverage);
        } else if finished.outcome == Outcome::Passed {
            let conditions = event.conditions();
            event.coverage.push_str(&conditions.to_string());
            event.coverage.extend(options.limits());
        }
        event.options = Some(options);
        self.tally.add(&event);
        Pointers::default().apply(&mut finished);
        let mut objects = Objects::new(&self.inputs.plan.workspace_root);
        objects.apply(&mut finished);
        if let Some(covered) = &mut event.counts.covered {
            objects.name_operations(covered);
        }
        let detail = Detail {
            exploration: exploration.clone(),
            finished,
            stderr,
            schedule,
        };
        self.report(&Event::TestFinished(Box::new(event)), Some(&detail))
    }

    fn report(&mut self, event: &Event, detail: Option<&Detail>) -> Result<()> {
        self.record.event(event)?;
        match self.reporter.event(event, detail) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.hung_up = true;
                Err(Error::Interrupted)
            }
            Err(error) => Err(Error::io("write to", "standard output")(error)),
        }
    }
}

impl Listener for Run<'_> {
    fn news(&mut self, news: News) -> Result<()> {
        match news {
            News::Started(index) => {
                self.milestones = Milestones::default();
                self.being_reported = Some(index);
                self.report(&Event::TestStarted(self.tests[index].id.clone()), None)
            }
            News::Advanced(index, advance) => {
                self.progress(index, advance.schedules, &advance.milestones)
            }
            News::Finished(index, verdict) => {
                let finished = &verdict.finished;
                self.progress(index, finished.counts.schedules, &finished.milestones)?;
                self.rounds.mark_reported(index);
                self.being_reported = None;
                self.finished(index, *verdict)
            }
            News::Paused(index, look, so_far) => {
                self.rounds.paused(index, look, *so_far);
                Ok(())
            }
        }
    }

    fn moment(&mut self, moment: Moment) {
        match moment {
            Moment::Begun(index) => {
                let round = self.rounds.round();
                self.state.begin(index, &self.tests[index].id, round);
            }
            Moment::Advanced(index, advance) => {
                let explored = advance.milestones.last().and_then(|last| last.explored);
                self.state
                    .advance(index, advance.schedules, advance.bound, explored);
            }
            Moment::Ended(index, schedules) => self.state.end(index, schedules),
            Moment::Paused(index, schedules) => self.state.pause(index, schedules),
            Moment::Tick => {}
        }
        self.reporter.state(&self.state);
    }

    fn is_fatal(&self, verdict: &Verdict) -> bool {
        self.inputs.options.fail_fast && verdict.finished.outcome.fails_run()
    }
}
