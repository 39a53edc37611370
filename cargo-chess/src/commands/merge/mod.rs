//! `cargo chess merge`: joins the JSON events of all shards of a run into those of the whole run.

mod file;
mod join;
mod parts;

use std::io::ErrorKind;

use camino::Utf8Path;

use crate::analysis::Detail;
use crate::cli::{MergeArgs, MessageFormat, RunOptions};
use crate::config::Layer;
use crate::error::{Error, Result, exit_code};
use crate::events::{Event, NOT_DETERMINISTIC, TestFinished};
use crate::protocol::Finished;
use crate::report::{self, Reporter};
use crate::schedule::Schedule;
use file::File;
use join::Joined;

/// Joins the files that `args` name. Prints the events to standard output, and a report for people
/// to standard error. Returns the exit code of an undivided run.
pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    let files = args.files.iter().map(|path| File::read(path));
    let joined = join::join(files.collect::<Result<_>>()?)?;
    let options = RunOptions {
        message_format: MessageFormat::Json,
        reports: args.reports.clone(),
        ..RunOptions::new(&args.output, None)
    };
    // Paths of schedules and source lines are relative to the current directory.
    let mut reporter = report::reporter(&options, Utf8Path::new("."))?;
    match report(&joined, &mut *reporter) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(joined.tally.exit_code()),
        shown => shown.map_err(Error::io("write to", "standard output"))?,
    }
    verdict(&joined)
}

fn report(joined: &Joined, reporter: &mut dyn Reporter) -> std::io::Result<()> {
    let ignored = joined.tally.counts.ignored;
    let mut tests = 0;
    for event in &joined.events {
        let detail = match event {
            Event::TestFinished(test) => {
                tests += 1;
                (tests > ignored).then(|| detail(test))
            }
            _ => None,
        };
        reporter.event(event, detail.as_ref())?;
    }
    Ok(())
}

/// The exit code, or the error that determines it.
fn verdict(joined: &Joined) -> Result<u8> {
    let code = joined.tally.exit_code();
    if code != exit_code::OK || joined.part.tests == 0 {
        return Ok(code);
    }
    if joined.part.require_tests && joined.tally.not_explored() == joined.part.tests {
        return Err(Error::Usage(
            "no test of this run is under control, so nothing was explored; the warnings above have the reasons.\n\
             With --no-tests pass on each shard this is a success."
                .to_owned(),
        ));
    }
    if joined.part.require_complete {
        joined.tally.require_complete()?;
    }
    Ok(code)
}

/// The details of a test for the report for people. They have only the data that the test's event
/// contains.
fn detail(test: &TestFinished) -> Detail {
    let options = test.options.as_ref();
    let layer = options.map_or_else(Layer::default, |options| Layer {
        preemptions: Some(options.preemptions),
        schedules: options.schedules,
        work: options.work,
        max_steps: Some(options.max_steps),
        timers: options.timers.parse().ok(),
        spurious: options.spurious.parse().ok(),
        keep_going: Some(options.keep_going),
        coverage: test
            .counts
            .covered
            .as_ref()
            .map(|covered| !covered.pairs.is_empty()),
        ..Layer::default()
    });
    let finished = Finished {
        kind: test.kind,
        unstable: test.coverage == NOT_DETERMINISTIC,
        ..Finished::new(test.outcome)
    };
    let saved = test.schedule.as_ref();
    let schedule =
        saved.and_then(|path| Schedule::parse(&std::fs::read_to_string(path).ok()?).ok());
    Detail {
        exploration: layer.resolve(),
        finished,
        stderr: String::new(),
        schedule,
    }
}
