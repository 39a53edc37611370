//! `cargo chess replay`: runs one schedule again and reports whether it still fails.

mod debugger;
mod find;
mod outcome;
mod target;
mod trace;

use std::str::FromStr;
use std::time::Duration;

use crate::build::{Build, TestBinary};
use crate::cli::{OutputArgs, RebuildArgs, ReplayArgs, RunOptions};
use crate::config::{Exploration, Layer, MemoryAccesses, Races, Spins, Spurious, Timers};
use crate::error::{Error, Result};
use crate::events::Kind;
use crate::interrupt::Interrupt;
use crate::plan::Workspace;
use crate::regressions;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::supervise::{Callers, Job, ListedTest, Live, MarkedSources, Mode, Verdict, list};
use outcome::Telling;
pub(crate) use outcome::{Meaning, Replayed, meaning};
use trace::Traced;

/// Replays the schedule that `args` name and returns the exit code: 100 if it fails again, 0 if the
/// failure is gone.
pub fn run(args: &ReplayArgs, interrupt: &Interrupt) -> Result<u8> {
    let debugger = debugger::find(args)?;
    let Opened {
        schedule,
        session,
        build,
    } = open(Some(&args.schedule), &args.rebuild, &args.output, interrupt)?;
    let mut stage = Stage::new(&session, &build, &schedule, interrupt)?;
    if let Some(debugger) = &debugger {
        let cargo = target::cargo_args(&schedule, &args.rebuild)?;
        debugger.check(&stage, &cargo.build)?;
    }
    let shell = args.output.shell();
    let replayed = match &debugger {
        Some(debugger) => debugger::replay(&mut stage, &schedule, debugger, shell, interrupt)?,
        None if args.trace => {
            let traced = Traced::new(shell.color);
            stage.replay_live(&schedule, &|| interrupt.requested(), Some(&traced))?
        }
        None => stage.replay(&schedule, interrupt)?,
    };
    let options = RunOptions::new(&args.output, args.rebuild.build.jobs);
    let telling = Telling {
        options: &options,
        workspace_root: &session.plan.workspace_root,
    };
    telling.tell(&schedule, &replayed)
}

/// A schedule and its built program.
pub(crate) struct Opened {
    /// The schedule.
    pub(crate) schedule: Schedule,
    /// Its workspace, with the configuration from the time of the save.
    pub(crate) session: Session,
    /// The binary of its test.
    pub(crate) build: Build,
}

/// Finds the schedule that `argument` names, or the newest one without it, and builds its program.
pub(crate) fn open(
    argument: Option<&str>,
    rebuild: &RebuildArgs,
    output: &OutputArgs,
    interrupt: &Interrupt,
) -> Result<Opened> {
    let schedule = find(argument, rebuild)?;
    let cargo = target::cargo_args(&schedule, rebuild)?;
    let session = Session::open(&cargo, None, &layer(&schedule)?)?;
    target::check(&schedule, &session.plan)?;
    let build = session.build(&cargo, output, interrupt)?;
    Ok(Opened {
        schedule,
        session,
        build,
    })
}

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

/// The test of a schedule, for runs of any schedule.
pub(crate) struct Stage<'a> {
    session: &'a Session,
    build: &'a Build,
    test: ListedTest,
    binary: TestBinary,
    exploration: Exploration,
    /// Lines whose memory accesses are scheduling points.
    points: Vec<String>,
    /// Lines whose panics are intended even if no join receives them.
    intended: Vec<String>,
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
            .ok_or_else(|| target::no_such_test(schedule, &tests))?
            .clone();
        Ok(Self {
            session,
            build,
            binary: binaries[test.binary].clone(),
            test,
            exploration: session.config.for_test(&schedule.test.test),
            points: schedule.points.clone(),
            intended: schedule.intended.clone(),
            policies: session.plan.policy_lines(&build.generated),
            marked: MarkedSources::new(&session.plan, build),
            callers: Callers::new(&session.plan),
        })
    }

    /// Runs `schedule` in its own process.
    pub(crate) fn replay(&self, schedule: &Schedule, interrupt: &Interrupt) -> Result<Replayed> {
        self.replay_live(schedule, &|| interrupt.requested(), None)
    }

    /// Runs `schedule` in its own process until `stop` returns true, and passes its lines to
    /// `live`.
    fn replay_live(
        &self,
        schedule: &Schedule,
        stop: &dyn Fn() -> bool,
        live: Option<&dyn Live>,
    ) -> Result<Replayed> {
        let verdict = self.run_live(&schedule.decisions, stop, live)?;
        let plan = &self.session.plan;
        Ok(Replayed {
            atomic: plan.packages_of(&verdict.finished.atomic, &self.build.generated),
            verdict,
            exploration: self.exploration.clone(),
            sources_changed: plan.digest_of_sources()? != schedule.sources,
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
        live: Option<&dyn Live>,
    ) -> Result<Verdict> {
        let verdict = Job {
            test: &self.test,
            binary: &self.binary,
            exploration: &self.exploration,
            mode: Mode::Replay {
                decisions,
                points: &self.points,
                intended: &self.intended,
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

/// Reports the result of a replay, as `cargo chess replay` does, and returns its exit code.
pub(crate) fn tell(
    session: &Session,
    options: &RunOptions,
    schedule: &Schedule,
    replayed: &Replayed,
) -> Result<u8> {
    let telling = Telling {
        options,
        workspace_root: &session.plan.workspace_root,
    };
    telling.tell(schedule, replayed)
}

fn find(argument: Option<&str>, rebuild: &RebuildArgs) -> Result<Schedule> {
    if let Some(argument) = argument
        && let Some(schedule) = find::by_itself(argument)?
    {
        return Ok(schedule);
    }
    let toolchain = crate::toolchain::Toolchain::find()?;
    let workspace = Workspace::find(
        &toolchain,
        &rebuild.manifest,
        &rebuild.features,
        rebuild.build.target_dir.as_deref(),
    )?;
    let chess_dir = workspace.chess_dir();
    match argument {
        Some(argument) => {
            let kept = regressions::directories(&workspace);
            find::among_saved(argument, &chess_dir, &kept)
        }
        None => find::newest(&chess_dir),
    }
}

/// A number of schedules that marks the run as a search instead of a single run.
const SEARCHED: u64 = 2;

/// The time limit of a replay without another limit. Its work is known.
const LONG: Duration = Duration::from_hours(1);

/// The options with which the schedule was found. They override the workspace's own configuration.
pub(crate) fn layer(schedule: &Schedule) -> Result<Layer> {
    let (schedules, time) = match schedule.only_run.as_deref() {
        None => (SEARCHED, None),
        Some("steps") => (1, None),
        Some("time") => (1, Some(LONG)),
        Some(other) => {
            return Err(Error::Usage(format!(
                "the schedule's `only-run`: expected `steps` or `time`, found `{other}`"
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
