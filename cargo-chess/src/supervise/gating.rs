//! The first search for a test in a run of `gate`. It explores the schedules that preempt only at
//! changed lines.

use std::time::Duration;

use super::rounds;
use super::test_process::{Job, Slice, Verdict};
use crate::config::{Exploration, Strategy};
use crate::error::Result;

/// The highest number of schedules of this search.
const SCHEDULES: u64 = 10_000;

/// The options of a run of `gate`.
#[derive(Clone, Debug)]
pub(crate) struct Gating {
    /// The changed source lines as rustc names them, `FILE:LINE`. The schedules that preempt only
    /// at these lines are explored first.
    pub changed: Vec<String>,
    /// The time limit of the explorations of all tests together, in place of `time-total`.
    pub budget: Option<Duration>,
    /// Whether stored verdicts are used. If so, a test that has not changed since its last
    /// finished exploration gets the verdict of that exploration, and is not explored again.
    pub use_results: bool,
}

/// Explores the schedules of `job`'s test that preempt only at `changed` lines. Returns `None` if
/// `stop` returned true first.
///
/// If the test reaches none of the changed lines, these schedules have no preemption: they switch
/// tasks only where a task waits, yields or ends.
pub(super) fn changed_first(
    job: &Job<'_>,
    changed: &[String],
    stop: &dyn Fn() -> bool,
) -> Result<Option<Verdict>> {
    let quarter = |budget: Option<u64>| budget.map(|budget| budget.div_ceil(4));
    let own = quarter(job.exploration.schedules);
    let near = Exploration {
        strategy: vec![Strategy::Icb],
        schedules: Some(own.map_or(SCHEDULES, |own| own.min(SCHEDULES))),
        work: quarter(job.exploration.work),
        time: job.exploration.time.map(|time| time / 4),
        keep_going: false,
        ..job.exploration.clone()
    };
    let near = Job {
        exploration: &near,
        preempt_at: changed,
        part: None,
        cores: None,
        states: None,
        slice: Some(Slice {
            pause: Some(rounds::CHANGED),
            time: job.exploration.time.map(|time| time / 4),
        }),
        live: None,
        ..*job
    };
    let mut verdict = near.run(stop, &mut |_| ())?;
    if let Some(Verdict { finished, .. }) = &mut verdict {
        // This search covers only a part of the schedules, so it completes no bound.
        finished.bound_completed = None;
        finished.delays_completed = None;
        finished.complete = false;
    }
    Ok(verdict)
}
