//! The report on a replay.

use std::io;

use camino::Utf8Path;

use crate::analysis::Detail;
use crate::cli::{MessageFormat, RunOptions};
use crate::error::{Error, Result, exit_code};
use crate::events::{Event, TestFinished};
use crate::report::{Human, Json, Objects, Pointers, Reporter};
use crate::schedule::Schedule;
use crate::shell::Shell;
use crate::supervise::{ReplayResult, Replayed, another_failure};

/// Prints the report on a replay.
pub(super) struct ReplayReporter<'a> {
    /// The output options.
    pub(super) options: &'a RunOptions,
    /// The directory for source lines.
    pub(super) workspace_root: &'a Utf8Path,
}

impl ReplayReporter<'_> {
    /// Prints the report, and returns the exit code or the error that determines it.
    pub(super) fn report(&self, schedule: &Schedule, replayed: &Replayed) -> Result<u8> {
        let verdict = &replayed.verdict;
        let mut event =
            verdict
                .finished
                .to_event(&schedule.test, verdict.duration, replayed.atomic.clone());
        "one schedule".clone_into(&mut event.coverage);
        let mut finished = verdict.finished.clone();
        Pointers::default().apply(&mut finished);
        Objects::new(self.workspace_root).apply(&mut finished);
        let detail = Detail {
            exploration: replayed.exploration.clone(),
            finished,
            stderr: verdict.stderr.clone(),
            schedule: None,
        };
        if self.options.message_format == MessageFormat::Json {
            let id = Event::TestStarted(schedule.test.clone());
            let finished = Event::TestFinished(Box::new(event.clone()));
            let mut json = Json::new(io::stdout());
            for event in [id, finished] {
                match json.event(&event, None) {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        return Err(Error::io("write to", "standard output")(error));
                    }
                    _ => {}
                }
            }
        }
        let result = replayed.result(schedule);
        self.show(&result, &event, &detail);
        let shell = self.shell();
        let changed = "the sources have changed since the schedule was saved";
        match result {
            ReplayResult::Reproduced => {
                shell.status(
                    "Reproduced",
                    format!("{}: {}", schedule.test, schedule.kind),
                );
                if verdict.finished.diverged.is_some() {
                    shell
                        .warn("the failure is the same, but some steps of the schedule no longer fit the program");
                }
                if replayed.sources_changed {
                    shell.warn(changed);
                }
                Ok(exit_code::FAILURE_FOUND)
            }
            ReplayResult::Different => {
                shell.warn(another_failure(schedule));
                if replayed.sources_changed {
                    shell.warn(changed);
                }
                Ok(exit_code::FAILURE_FOUND)
            }
            ReplayResult::Gone => {
                shell.status(
                    "Gone",
                    format!(
                        "the test `{}` now passes under this schedule, which was saved for a failure ({})",
                        schedule.test, schedule.kind
                    ),
                );
                let why = if replayed.sources_changed {
                    changed
                } else {
                    "the instrumented sources are the same as when the schedule was saved: a dependency, the \
                     compiler or the input of the test has changed"
                };
                shell.status(
                    "Note",
                    format!("{why}; other schedules may still fail: run cargo chess test"),
                );
                Ok(exit_code::OK)
            }
            ReplayResult::Stale(misfit) => Err(replayed.stale(&misfit)),
        }
    }

    /// Prints the report of a failure.
    fn show(&self, result: &ReplayResult, event: &TestFinished, detail: &Detail) {
        if matches!(result, ReplayResult::Reproduced | ReplayResult::Different) {
            let mut human = Human::on_stderr(self.options, self.workspace_root);
            // A closed standard error cannot be reported.
            let _ = human.failure(event, detail);
        }
    }

    fn shell(&self) -> Shell {
        Shell {
            color: self.options.color,
            verbosity: self.options.verbosity,
        }
    }
}
