//! What a run of `gate` does besides: changed lines first, and a time for all tests together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::verdict::{Job, Verdict};
use crate::config::{Exploration, Strategy};
use crate::error::Result;

/// The most schedules that preempt at changed lines alone.
const SCHEDULES: u64 = 10_000;

/// The least time that a test gets, so that each gets a verdict.
const LEAST: Duration = Duration::from_millis(200);

/// What makes a run one of `gate`.
#[derive(Clone, Debug)]
pub struct Gating {
    /// The changed source lines as rustc names them, `FILE:LINE`: where tasks are preempted
    /// first.
    pub changed: Vec<String>,
    /// How long all tests together may be explored.
    pub budget: Option<Duration>,
    /// Whether tests that have not changed since their exploration was finished are answered
    /// from what it found.
    pub use_results: bool,
}

/// The time of all tests together, as it is used up.
pub(super) struct Budget {
    ends: Option<Instant>,
    /// Tests that have not begun.
    left: AtomicUsize,
    jobs: usize,
}

impl Budget {
    /// `budget` from now on, for so many tests, so many at once.
    pub(super) fn new(budget: Option<Duration>, tests: usize, jobs: usize) -> Self {
        Self {
            ends: budget.map(|budget| Instant::now() + budget),
            left: AtomicUsize::new(tests),
            jobs: jobs.max(1),
        }
    }

    /// The options of the test that begins now: its part of the time that is left.
    pub(super) fn begin(&self, exploration: &Exploration) -> Exploration {
        let left = self.left.fetch_sub(1, Ordering::Relaxed).max(1);
        let Some(ends) = self.ends else {
            return exploration.clone();
        };
        let rest = ends.saturating_duration_since(Instant::now());
        #[expect(clippy::cast_precision_loss, reason = "there are not that many tests")]
        let part = (self.jobs as f64 / left as f64).min(1.0);
        let time = rest.mul_f64(part).max(LEAST);
        Exploration {
            time: Some(exploration.time.map_or(time, |own| own.min(time))),
            ..exploration.clone()
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;

    #[test]
    fn the_tests_share_what_time_is_left() {
        let exploration = Layer::default().resolve();
        assert_eq!(Budget::new(None, 2, 1).begin(&exploration), exploration);
        let budget = Budget::new(Some(Duration::from_secs(100)), 4, 2);
        let time = || budget.begin(&exploration).time.expect("there is a budget");
        let near = |time: Duration, seconds: u64| {
            let seconds = Duration::from_secs(seconds);
            time <= seconds && time + Duration::from_secs(10) > seconds
        };
        assert!(near(time(), 50), "two of four at once");
        assert!(near(time(), 67), "nobody has used any");
        assert!(near(time(), 100) && near(time(), 100));
        let own = Exploration {
            time: Some(Duration::from_secs(1)),
            ..exploration.clone()
        };
        assert_eq!(budget.begin(&own), own);
        let used_up = Budget::new(Some(Duration::ZERO), 1, 1).begin(&exploration);
        assert_eq!(used_up.time, Some(LEAST));
    }
}
