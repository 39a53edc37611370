//! Runs the tests of the built binaries in processes, and passes the results to a reporter.

mod callers;
mod child_process;
mod columns;
mod control_warnings;
mod cores;
mod exclusion;
mod exit_status;
mod gating;
mod group;
mod inputs;
mod list;
mod milestones;
mod pool;
mod regress;
mod replay_result;
mod request;
mod resume;
mod rounds;
mod run;
mod saving;
mod scratch;
mod shard_report;
mod stage;
mod tally;
mod test_process;
mod turn;
mod uncontrolled;
mod used_paths;

pub(crate) use gating::Gating;
pub(crate) use inputs::Inputs;
pub(crate) use list::{ListedTest, list, select};
pub(crate) use replay_result::{ReplayResult, Replayed, another_failure};
pub(crate) use run::run;
pub(crate) use stage::{Stage, options_of, replay};
pub(crate) use tally::Tally;
pub(crate) use test_process::ReplayObserver;

/// Makes this process the parent of its test processes' orphans, so that it can reap them. Called
/// once per process, before the first test runs.
pub(crate) fn adopt_orphans() {
    group::adopt_orphans();
}

#[cfg(test)]
mod tests;
