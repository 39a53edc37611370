//! The exploration of one test: the loop over executions, the process around it, and the reports to
//! the supervisor.

mod body;
mod checkpoint_counters;
mod checkpoint_handover;
mod counters;
mod covered;
mod covered_pairs;
mod debugger;
mod distinct_failures;
mod engine;
mod exploration;
mod explore;
mod explorer_output;
mod foreign_threads;
mod helper_processes;
mod json;
mod live_trace;
mod minimise_failures;
mod names;
mod nondeterminism;
mod phase;
mod process;
mod report;
mod request;
mod run;
mod shared_file;
mod warnings;
mod watchdog;
mod work;
mod zygote;

pub use request::{Request, VARIABLE};
pub use zygote::serve;

pub use crate::monitor::Expectation;
pub(crate) use exploration::{Exploration, Milestone, Paused, exploration};

/// A test of the binary, as libtest's harness describes it.
#[derive(Clone, Copy)]
pub struct Test {
    /// The path of the test, as for `--exact`.
    pub name: &'static str,
    /// The function of the test. A test that returns a `Result` fails if this function returns an
    /// error.
    pub run: fn() -> Result<(), String>,
    /// The outcome that the attributes of the test require, for instance a panic (`should_panic`).
    pub expectation: Expectation,
}
