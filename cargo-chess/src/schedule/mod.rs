//! A saved schedule. `directory` names its file and saves it.
//!
//! `format_2` is the format of `*.chess` files, and `inline` is the one-word form. The word
//! contains a text of `format_1`. Earlier versions also wrote this text into files.

pub(crate) mod directory;
mod error;
mod format_1;
mod format_2;
pub(crate) mod inline;

pub(crate) use error::ScheduleError;

use std::fmt::Display;

use crate::events::{Kind, Location, TestId};

/// The command that runs a schedule again. `schedule` is an id or the one-word form.
pub(crate) fn replay_command(schedule: impl Display) -> String {
    format!("cargo chess replay {schedule}")
}

/// A failing schedule, with everything that a replay needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    /// The test.
    pub test: TestId,
    /// The kind of the failure.
    pub kind: Kind,
    /// The message of the failure.
    pub message: String,
    /// The source line of the failure.
    pub location: Option<Location>,
    /// The number of preemptions among the decisions.
    pub preemptions: Option<u32>,
    /// The strategy that found the schedule.
    pub strategy: String,
    /// The seed of the random numbers that the test sees.
    pub seed: u64,
    /// The memory model.
    pub memory: String,
    /// The step limit of an execution (`max-steps`).
    pub max_steps: u64,
    /// The way in which executions are kept apart.
    pub isolate: String,
    /// The stacks or threads on which tasks run.
    pub backend: String,
    /// The rule for timeouts, if it is not the default.
    pub timers: Option<String>,
    /// The option `spurious`, if it is not the default.
    pub spurious: Option<String>,
    /// The calls that may fail, separated by commas, if there are any.
    pub faults: Option<String>,
    /// The treatment of accesses to plain memory, if it is not the default.
    pub memory_accesses: Option<String>,
    /// The level of a data race, if it is not the default.
    pub races: Option<String>,
    /// The level of a loop that waits without yielding, if it is not the default.
    pub spins: Option<String>,
    /// The limit of the execution, `steps` or `time`, if the test was only run once and its
    /// execution exceeded `max-steps`. In such an execution, tasks have shorter turns than in a
    /// search.
    pub only_run: Option<String>,
    /// The lines whose accesses to plain memory are scheduling points: `src/lib.rs:12`.
    pub points: Vec<String>,
    /// The lines whose panics are intended even if no join receives them.
    pub intended: Vec<String>,
    /// Cargo's flags that change the build, as in `--release --features x`.
    pub cargo: String,
    /// The digest of the instrumented sources.
    pub sources: String,
    /// The decisions, run-length encoded: `0*12 1*3 ?1 0`.
    pub decisions: String,
    /// The source lines before which tasks are preempted. They are only saved in regressions, to
    /// find them again in a changed program. They do not identify the failure: [`Self::id`] does
    /// not depend on them.
    pub preempted_at: Vec<PreemptedAt>,
}

impl Schedule {
    /// Whether the execution of this schedule is known to have no end. This holds for livelocks and
    /// spins of an unchanged program. `sources_changed` states whether the program may have
    /// changed.
    pub(crate) fn is_endless(&self, sources_changed: bool) -> bool {
        matches!(self.kind, Kind::Livelock | Kind::Spin) && !sources_changed
    }
}

/// A source line before which a task is preempted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PreemptedAt {
    /// The source file, in the form of the reports.
    pub file: String,
    /// The line's number.
    pub line: u32,
    /// The text of the line, by which it is found again if it has moved. Empty if the text is not
    /// known.
    pub text: String,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Schedule {
        Schedule {
            test: TestId {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: "transfer_is_atomic".into(),
            },
            kind: Kind::Panic,
            message: "assertion `left == right` failed\n  left: 1\n right: 2".into(),
            location: Some(Location {
                file: "src/lib.rs".into(),
                line: 42,
                column: 9,
            }),
            preemptions: Some(1),
            strategy: "icb".into(),
            seed: 0,
            memory: "sc".into(),
            max_steps: 20_000,
            isolate: "image".into(),
            backend: "fibers".into(),
            timers: None,
            spurious: None,
            faults: None,
            memory_accesses: None,
            races: None,
            spins: None,
            only_run: None,
            points: Vec::new(),
            intended: Vec::new(),
            cargo: String::new(),
            sources: "9f86d081884c7d659a2feaa0c55ad015".into(),
            decisions: "0*12 1*3 ?1 0".into(),
            preempted_at: Vec::new(),
        }
    }
}
