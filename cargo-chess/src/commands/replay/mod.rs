//! `cargo chess replay`: runs one schedule again and reports whether it still fails.

mod debugger;
mod find;
mod outcome;
mod target;
mod trace;

use crate::build::Build;
use crate::cli::{OutputArgs, RebuildArgs, ReplayArgs, RunOptions};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::plan::Workspace;
use crate::regressions;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::supervise::{Replayed, Stage, options_of};
use outcome::ReplayReporter;
use trace::Traced;

/// Replays the schedule that `args` name. Returns the exit code: 100 if the test fails again, and
/// 0 if it passes.
pub(crate) fn run(args: &ReplayArgs, interrupt: &Interrupt) -> Result<u8> {
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
    let reporter = ReplayReporter {
        options: &options,
        workspace_root: &session.plan.workspace_root,
    };
    reporter.report(&schedule, &replayed)
}

/// A schedule and its built program.
pub(crate) struct Opened {
    /// The schedule.
    pub(crate) schedule: Schedule,
    /// The workspace, with the configuration that was saved with the schedule.
    pub(crate) session: Session,
    /// The build with the binary of the test.
    pub(crate) build: Build,
}

/// Finds the schedule that `argument` names, and builds its program. If `argument` is `None`,
/// takes the newest saved failure.
pub(crate) fn open(
    argument: Option<&str>,
    rebuild: &RebuildArgs,
    output: &OutputArgs,
    interrupt: &Interrupt,
) -> Result<Opened> {
    let schedule = find(argument, rebuild)?;
    let mut cargo = target::cargo_args(&schedule, rebuild)?;
    let session = Session::open(&cargo, None, &options_of(&schedule)?)?;
    cargo.packages.package = vec![target::package_id(&schedule, &session.plan)?];
    let build = session.build(&cargo, output, interrupt)?;
    Ok(Opened {
        schedule,
        session,
        build,
    })
}

/// Reports the result of a replay, as `cargo chess replay` does, and returns its exit code.
pub(crate) fn report(
    session: &Session,
    options: &RunOptions,
    schedule: &Schedule,
    replayed: &Replayed,
) -> Result<u8> {
    let reporter = ReplayReporter {
        options,
        workspace_root: &session.plan.workspace_root,
    };
    reporter.report(schedule, replayed)
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
