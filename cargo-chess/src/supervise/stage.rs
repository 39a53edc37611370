//! Runs of a test under saved schedules.

use std::str::FromStr;
use std::time::Duration;

use super::callers::Callers;
use super::columns::MarkedSources;
use super::list::{ListedTest, list};
use super::replay_result::Replayed;
use super::request::Mode;
use super::test_process::{Job, ReplayObserver, Verdict};
use crate::build::{Build, TestBinary};
use crate::config::{Exploration, Layer, MemoryAccesses, Races, Spins, Spurious, Timers};
use crate::error::{Error, Result};
use crate::events::Kind;
use crate::interrupt::Interrupt;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::suggest;

/// Runs `schedule` in its own process.
pub(crate) fn replay(
    session: &Session,
    build: &Build,
    schedule: &Schedule,
    interrupt: &Interrupt,
) -> Result<Replayed> {
    let stage = Stage::new(session, build, schedule, interrupt)?;
    stage.replay(schedule, interrupt)
}

/// The test of a schedule, with the data to run it under this schedule and under other ones.
pub(crate) struct Stage<'a> {
    /// The workspace of the test.
    pub(crate) session: &'a Session,
    build: &'a Build,
    test: ListedTest,
    /// The binary of the test.
    pub(crate) binary: TestBinary,
    /// The options of the runs.
    pub(crate) exploration: Exploration,
    /// Lines whose memory accesses are scheduling points.
    points: Vec<String>,
    /// Lines whose panics are intended even if no join receives them.
    intended: Vec<String>,
    /// Whether the sources differ from those that the schedule was saved with.
    sources_changed: bool,
    /// Whether the schedule is known to have no end.
    is_endless: bool,
    policies: Vec<String>,
    marked: MarkedSources,
    callers: Callers,
}

impl<'a> Stage<'a> {
    /// Finds the test of `schedule` among those of its binary.
    pub(crate) fn new(
        session: &'a Session,
        build: &'a Build,
        schedule: &Schedule,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let binaries: Vec<_> = build
            .binaries
            .iter()
            .filter(|binary| {
                binary.package == schedule.test.package && binary.id == schedule.test.binary
            })
            .cloned()
            .collect();
        let tests = list(&binaries, interrupt)?;
        let test = tests
            .iter()
            .find(|test| test.id == schedule.test)
            .ok_or_else(|| no_such_test(schedule, &tests))?
            .clone();
        let mut policies = session.plan.policy_lines(&build.generated);
        if schedule.faults.is_some() {
            policies.extend(session.plan.faultless_lines()?);
        }
        let sources_changed = session.plan.digest_of_sources()? != schedule.sources;
        Ok(Self {
            session,
            build,
            binary: binaries[test.binary].clone(),
            test,
            exploration: session.config.for_test(&schedule.test.test),
            points: schedule.points.clone(),
            intended: schedule.intended.clone(),
            sources_changed,
            is_endless: schedule.is_endless(sources_changed),
            policies,
            marked: MarkedSources::new(&session.plan, build),
            callers: Callers::new(&session.plan),
        })
    }

    /// Runs `schedule` in its own process.
    pub(crate) fn replay(&self, schedule: &Schedule, interrupt: &Interrupt) -> Result<Replayed> {
        self.replay_live(schedule, &|| interrupt.requested(), None)
    }

    /// Runs `schedule` in its own process, and passes the lines of the process to `live`. If
    /// `stop` returns true, ends the process early.
    pub(crate) fn replay_live(
        &self,
        schedule: &Schedule,
        stop: &dyn Fn() -> bool,
        live: Option<&dyn ReplayObserver>,
    ) -> Result<Replayed> {
        let verdict = self.run_live(&schedule.decisions, stop, live)?;
        let plan = &self.session.plan;
        Ok(Replayed {
            atomic: plan.packages_of(&verdict.finished.atomic, &self.build.generated),
            verdict,
            exploration: self.exploration.clone(),
            sources_changed: self.sources_changed,
        })
    }

    /// Runs the schedule of these decisions in its own process.
    pub(crate) fn run(&self, decisions: &str, interrupt: &Interrupt) -> Result<Verdict> {
        self.run_live(decisions, &|| interrupt.requested(), None)
    }

    fn run_live(
        &self,
        decisions: &str,
        stop: &dyn Fn() -> bool,
        live: Option<&dyn ReplayObserver>,
    ) -> Result<Verdict> {
        let verdict = Job {
            test: &self.test,
            binary: &self.binary,
            exploration: &self.exploration,
            mode: Mode::Replay {
                decisions,
                points: &self.points,
                intended: &self.intended,
                is_endless: self.is_endless,
            },
            policies: &self.policies,
            preempt_at: &[],
            marked: &self.marked,
            callers: &self.callers,
            no_capture: false,
            binary_args: &[],
            part: None,
            cores: None,
            exclusion: None,
            states: None,
            slice: None,
            live,
        }
        .run(stop, &mut |_| ())?;
        verdict.ok_or(Error::Interrupted)
    }
}

/// The error for a test that the binary no longer has.
fn no_such_test(schedule: &Schedule, tests: &[ListedTest]) -> Error {
    let names = tests.iter().map(|test| test.id.test.as_str());
    let nearest = suggest::nearest(&schedule.test.test, names)
        .map_or_else(String::new, |name| format!(" (is it `{name}` now?)"));
    Error::Usage(format!(
        "the schedule is for the test `{}`, which `{}` does not have any more{nearest}.\n\
         The program has changed since: run `cargo chess test` to explore it as it is now.",
        schedule.test.test, schedule.test.binary
    ))
}

/// The option `schedules` in a replay of a failure that was found by a search. With the value 1,
/// the test would be run without a search, and other limits would apply.
const SEARCHED: u64 = 2;

/// The time limit of the replay of a schedule with `only-run: time`. With a time limit, the number
/// of steps of a test that is only run has no limit.
const LONG: Duration = Duration::from_hours(1);

/// Returns the options that are saved in the schedule, as a layer of the configuration. In a
/// replay, this layer overrides the options of the workspace.
pub(crate) fn options_of(schedule: &Schedule) -> Result<Layer> {
    let (schedules, time) = match schedule.only_run.as_deref() {
        None => (SEARCHED, None),
        Some("steps") => (1, None),
        Some("time") => (1, Some(LONG)),
        Some(other) => {
            return Err(Error::Usage(format!(
                "the schedule's `only-run`: expected `steps` or `time`, found `{other}`. Change the \
                 value, or create the schedule again with `cargo chess test`"
            )));
        }
    };
    Ok(Layer {
        seed: Some(schedule.seed),
        schedules: Some(schedules),
        time,
        max_steps: Some(schedule.max_steps),
        memory: Some(option("memory", &schedule.memory)?),
        isolate: Some(option("isolate", &schedule.isolate)?),
        backend: Some(option("backend", &schedule.backend)?),
        leaks: (schedule.kind == Kind::Leak).then_some(true),
        timers: match &schedule.timers {
            Some(timers) => Some(option("timers", timers)?),
            None => Some(Timers::Any),
        },
        spurious: match &schedule.spurious {
            Some(spurious) => Some(option("spurious", spurious)?),
            None => Some(Spurious::Any),
        },
        faults: match &schedule.faults {
            Some(faults) => {
                let mut layer = Layer::default();
                let set = layer.set_from_text("faults", faults);
                set.map_err(|problem| Error::Usage(format!("the schedule's `faults`: {problem}")))?;
                layer.faults
            }
            None => Some(Vec::new()),
        },
        memory_accesses: match &schedule.memory_accesses {
            Some(accesses) => Some(option("memory-accesses", accesses)?),
            None => Some(MemoryAccesses::Watch),
        },
        races: match &schedule.races {
            Some(races) => Some(option("races", races)?),
            None => Some(Races::Deny),
        },
        spins: match &schedule.spins {
            Some(spins) => Some(option("spins", spins)?),
            None => Some(Spins::Warn),
        },
        ..Layer::default()
    })
}

fn option<T: FromStr<Err = String>>(key: &str, text: &str) -> Result<T> {
    text.parse()
        .map_err(|problem| Error::Usage(format!("the schedule's `{key}`: {problem}")))
}
