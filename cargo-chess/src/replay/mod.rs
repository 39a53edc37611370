//! `cargo chess replay`: runs one schedule again and says whether it still fails.

mod find;
mod outcome;
mod target;

use std::str::FromStr;

use crate::build::Build;
use crate::cli::{ReplayArgs, RunOptions};
use crate::config::{Layer, Timers};
use crate::digest;
use crate::error::{Error, Result};
use crate::events::Kind;
use crate::interrupt::Interrupt;
use crate::plan::Workspace;
use crate::regressions;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::supervise::{Job, MarkedSources, Mode, Verdict, list};
use outcome::Telling;
pub(crate) use outcome::{Meaning, Replayed, meaning};

/// Replays what `args` name and returns the exit code: 100 if it fails again,
/// 0 if the failure is gone.
pub fn run(args: &ReplayArgs, interrupt: &Interrupt) -> Result<u8> {
    let schedule = find(args)?;
    let cargo = target::cargo_args(&schedule, args)?;
    let session = Session::open(&cargo, None, &layer(&schedule)?)?;
    target::check(&schedule, &session.plan)?;
    let options = RunOptions::new(&args.output, args.build.jobs);
    let build = session.build(&cargo, &args.output)?;
    let replayed = replay(&session, &build, &schedule, interrupt)?;
    let telling = Telling {
        options: &options,
        workspace_root: &session.plan.workspace_root,
        trace: args.trace,
    };
    telling.tell(&schedule, &replayed)
}

/// Runs `schedule` in a process of its own.
pub(crate) fn replay(
    session: &Session,
    build: &Build,
    schedule: &Schedule,
    interrupt: &Interrupt,
) -> Result<Replayed> {
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
        .ok_or_else(|| target::no_such_test(schedule, &tests))?;
    let exploration = session.config.for_test(&schedule.test.test);
    let verdict = Job {
        test,
        binary: &binaries[test.binary],
        exploration: &exploration,
        mode: Mode::Replay {
            decisions: &schedule.decisions,
        },
        policies: &session.plan.policy_lines(&build.generated),
        preempt_at: &[],
        marked: &MarkedSources::new(&session.plan, build),
        no_capture: false,
        binary_args: &[],
        part: None,
        cores: None,
        states: None,
    }
    .run(&|| interrupt.requested(), &mut |_| ())?;
    let Some(verdict) = verdict else {
        return Err(Error::Interrupted);
    };
    Ok(Replayed {
        atomic: session
            .plan
            .packages_of(&verdict.finished.atomic, &build.generated),
        verdict,
        exploration,
        sources_changed: digest::sources(&session.plan)? != schedule.sources,
    })
}

/// Tells how a replay ended, as `cargo chess replay` does, and returns its exit code.
pub(crate) fn tell(
    session: &Session,
    options: &RunOptions,
    schedule: &Schedule,
    replayed: &Replayed,
) -> Result<u8> {
    let telling = Telling {
        options,
        workspace_root: &session.plan.workspace_root,
        trace: false,
    };
    telling.tell(schedule, replayed)
}

fn find(args: &ReplayArgs) -> Result<Schedule> {
    if let Some(schedule) = find::by_itself(&args.schedule)? {
        return Ok(schedule);
    }
    let toolchain = crate::build::Toolchain::find()?;
    let workspace = Workspace::find(
        &toolchain,
        &args.manifest,
        &args.features,
        args.build.target_dir.as_deref(),
    )?;
    let kept = regressions::directories(&workspace);
    find::among_saved(&args.schedule, &workspace.chess_dir(), &kept)
}

/// What the schedule was found with, over the workspace's own configuration.
pub(crate) fn layer(schedule: &Schedule) -> Result<Layer> {
    Ok(Layer {
        seed: Some(schedule.seed),
        max_steps: Some(schedule.max_steps),
        memory: Some(option("memory", &schedule.memory)?),
        isolate: Some(option("isolate", &schedule.isolate)?),
        backend: Some(option("backend", &schedule.backend)?),
        leaks: (schedule.kind == Kind::Leak).then_some(true),
        timers: match &schedule.timers {
            Some(timers) => Some(option("timers", timers)?),
            None => Some(Timers::Any),
        },
        ..Layer::default()
    })
}

fn option<T: FromStr<Err = String>>(key: &str, text: &str) -> Result<T> {
    text.parse()
        .map_err(|problem| Error::Usage(format!("the schedule's `{key}`: {problem}")))
}
