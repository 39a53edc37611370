//! `cargo chess explain`: runs a saved failure again, and explains it.

use camino::Utf8Path;

use super::replay::{self, Opened};
use crate::analysis::{self, Detail, Explanation, Passing};
use crate::cli::{ExplainArgs, RunOptions};
use crate::error::{Error, Result};
use crate::events::Outcome;
use crate::interrupt::Interrupt;
use crate::protocol::Finished;
use crate::report::{self, Human, Objects, Pointers, Surroundings};
use crate::shell::Shell;
use crate::stdout;
use crate::supervise::{ReplayResult, Stage, another_failure};

/// The highest number of schedules that are run to find one that passes.
const MOST_TRIED: usize = 100;

/// The number of steps of all tried schedules together after which no further schedule is tried.
const MOST_STEPS: u64 = 400_000;

/// Replays the schedule that `args` name, and explains its failure.
pub(crate) fn run(args: &ExplainArgs, interrupt: &Interrupt) -> Result<()> {
    let opened = replay::open(
        args.schedule.as_deref(),
        &args.rebuild,
        &args.output,
        interrupt,
    )?;
    let schedule = &opened.schedule;
    let stage = Stage::new(&opened.session, &opened.build, schedule, interrupt)?;
    let mut replayed = stage.replay(schedule, interrupt)?;
    let is_gone = matches!(replayed.result(schedule), ReplayResult::Gone);
    if args.markdown && is_gone {
        return Err(Error::Usage(format!(
            "the test `{}` now passes under this schedule, so there is no failure to report.\n\
             Run `cargo chess test` to explore the other schedules.",
            schedule.test
        )));
    }
    let shell = args.output.shell();
    match replayed.result(schedule) {
        ReplayResult::Reproduced => {}
        ReplayResult::Different => shell.warn(another_failure(schedule)),
        ReplayResult::Gone => shell.warn(format!(
            "the test `{}` now passes under this schedule, which was saved for a failure ({}). `cargo chess test` explores the other schedules",
            schedule.test, schedule.kind
        )),
        ReplayResult::Stale(misfit) => return Err(replayed.stale(&misfit)),
    }
    let (mut passing, mut tried) = (None, 0);
    if replayed.verdict.finished.outcome == Outcome::Failed {
        (passing, tried) = find_passing(&stage, &replayed.verdict.finished, interrupt, MOST_TRIED)?;
    }
    let mut names = Pointers::default();
    names.apply(&mut replayed.verdict.finished);
    if let Some(passing) = &mut passing {
        names.apply(&mut passing.finished);
        analysis::align(&replayed.verdict.finished, &mut passing.finished);
    }
    let mut objects = Objects::new(&opened.session.plan.workspace_root);
    objects.apply(&mut replayed.verdict.finished);
    if let Some(passing) = &mut passing {
        objects.apply(&mut passing.finished);
    }
    let verdict = replayed.verdict;
    let mut test =
        verdict
            .finished
            .to_event(&schedule.test, verdict.duration, replayed.atomic.clone());
    "one schedule".clone_into(&mut test.coverage);
    let explanation = Explanation {
        test,
        detail: Detail {
            exploration: replayed.exploration,
            finished: verdict.finished,
            stderr: verdict.stderr,
            schedule: Some(schedule.clone()),
        },
        passing,
        tried,
        sources_changed: replayed.sources_changed,
    };
    if let Some(file) = &args.html {
        return write_page(&explanation, file.as_deref(), &opened, shell);
    }
    if args.markdown {
        let around = Surroundings {
            plan: &opened.session.plan,
            toolchain: &opened.session.toolchain,
            schedule,
        };
        return stdout::print(&report::markdown(&explanation, &around));
    }
    let options = RunOptions::new(&args.output, args.rebuild.build.jobs);
    let root = &opened.session.plan.workspace_root;
    // A closed standard error cannot be reported.
    let _ = Human::on_stderr(&options, root).explanation(&explanation);
    Ok(())
}

/// Writes the page of an explanation to `file`, or to `target/chess/explain` if that is `None`,
/// and prints its path.
fn write_page(
    explanation: &Explanation,
    file: Option<&Utf8Path>,
    opened: &Opened,
    shell: Shell,
) -> Result<()> {
    let plan = &opened.session.plan;
    let usual = || {
        let name = opened.schedule.stem() + ".html";
        plan.chess_dir.join("explain").join(name)
    };
    let file = file.map_or_else(usual, Utf8Path::to_owned);
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
    }
    let page = report::page(&plan.workspace_root, explanation)
        .map_err(|error| Error::io("write", &file)(error.into()))?;
    std::fs::write(&file, page).map_err(Error::io("write", &file))?;
    shell.status(
        "Written",
        file.strip_prefix(&plan.workspace_root).unwrap_or(&file),
    );
    Ok(())
}

/// Runs neighbours of the failing schedule until one passes. Returns the neighbour that passes, if
/// there is one, and the number of schedules that were run.
fn find_passing(
    stage: &Stage<'_>,
    failing: &Finished,
    interrupt: &Interrupt,
    most: usize,
) -> Result<(Option<Passing>, usize)> {
    let (mut tried, mut steps) = (0, 0);
    for neighbour in analysis::neighbours::of(&failing.decided).take(most) {
        tried += 1;
        let finished = stage.run(&neighbour.decisions, interrupt)?.finished;
        steps += finished.counts.steps;
        if finished.outcome == Outcome::Passed && finished.diverged.is_none() {
            let passing = Passing {
                finished,
                decision: neighbour.decision,
                instead: neighbour.instead,
            };
            return Ok((Some(passing), tried));
        }
        if steps > MOST_STEPS {
            break;
        }
    }
    Ok((None, tried))
}
