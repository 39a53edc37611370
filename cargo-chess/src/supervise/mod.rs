//! Runs the tests of the built binaries in processes, and passes the results to a reporter.

mod callers;
mod columns;
mod control;
mod cores;
mod exclusion;
mod gating;
mod group;
mod list;
mod milestones;
mod part;
mod pool;
mod process;
mod regress;
mod request;
mod resume;
mod rounds;
mod run;
mod saving;
mod scratch;
mod session;
mod status;
mod tally;
mod turn;
mod uncontrolled;
mod verdict;

pub(crate) use callers::Callers;
pub(crate) use columns::MarkedSources;
pub use gating::Gating;
pub use list::{ListedTest, OWN_HARNESS, list, select};
pub(crate) use request::Mode;
pub use run::{Run, run};
pub(crate) use tally::Tally;
pub(crate) use verdict::{Job, Live, Verdict};

/// Makes this process the parent of its test processes' orphans, so that it can reap them. Called
/// once per process, before the first test runs.
pub(crate) fn adopt_orphans() {
    group::adopt_orphans();
}

#[cfg(test)]
mod tests;
