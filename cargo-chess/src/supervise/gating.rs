//! What a run of `gate` does besides: changed lines first.

use std::time::Duration;

use super::rounds;
use super::verdict::{Job, Slice, Verdict};
use crate::config::{Exploration, Strategy};
use crate::error::Result;

/// The most schedules that preempt at changed lines alone.
const SCHEDULES: u64 = 10_000;

/// What makes a run one of `gate`.
#[derive(Clone, Debug)]
pub struct Gating {
    /// The changed source lines as rustc names them, `FILE:LINE`: where tasks are preempted
    /// first.
    pub changed: Vec<String>,
    /// How long all tests together may be explored, in place of `time-total`.
    pub budget: Option<Duration>,
    /// Whether tests that have not changed since their exploration was finished are answered
    /// from what it found.
    pub use_results: bool,
}

/// Explores the schedules of `job`'s test that preempt at `changed` lines alone; none if `stop`
/// said so first.
///
/// Where a test does not come by these lines, that is a single schedule.
pub(super) fn changed_first(
    job: Job<'_>,
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
        ..job
    };
    let mut verdict = near.run(stop, &mut |_| ())?;
    if let Some(Verdict { finished, .. }) = &mut verdict {
        // Of all schedules it says nothing.
        finished.bound_completed = None;
        finished.complete = false;
    }
    Ok(verdict)
}
