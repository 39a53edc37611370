//! `random`: a uniform choice among the enabled tasks at each scheduling point.

use super::stored::kept_between_executions;
use super::{ChoicePoint, Draw, Ended, Estimate, Progress, Rng, SchedulingPoint, Strategy};

/// One in so many operations may take an outcome that is not the ordinary one.
const UNUSUAL: u64 = 16;

/// Draws an operation's outcome: evenly, but for those that cost.
pub(super) fn draw_outcome(rng: &mut Rng, estimate: &mut Estimate, point: &ChoicePoint<'_>) -> u32 {
    if !point.costs {
        estimate.chose(point.outcomes);
        return rng.below(point.outcomes.into()) as u32;
    }
    let outcome = if is_unusual(rng) {
        rng.below(point.outcomes.into()) as u32
    } else {
        0
    };
    let each = f64::from(point.outcomes) * UNUSUAL as f64;
    let ways = match outcome {
        0 => each - f64::from(point.outcomes) + 1.0,
        _ => 1.0,
    };
    estimate.chose_with_odds(each / ways);
    outcome
}

/// Whether what costs as a preemption does happens.
pub(super) fn is_unusual(rng: &mut Rng) -> bool {
    rng.below(UNUSUAL) == 0
}

/// The random walk. Deterministic from its seed.
pub(crate) struct Random {
    rng: Rng,
    /// The generator as the current execution found it.
    start: Rng,
    estimate: Estimate,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            start: Rng::new(seed),
            estimate: Estimate::new(Draw::Walk),
        }
    }
}

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn begin(&mut self) -> bool {
        self.start = self.rng.clone();
        self.estimate.begin();
        true
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        self.estimate.chose(point.options.len() as u32);
        self.rng.below(point.options.len() as u64) as usize
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        draw_outcome(&mut self.rng, &mut self.estimate, point)
    }

    fn retry(&mut self) {
        self.rng = self.start.clone();
        self.estimate.begin();
    }

    fn end(&mut self, execution: &Ended<'_>) {
        if !execution.diverged {
            self.estimate.observe();
        }
    }

    fn estimate(&self) -> Option<&Estimate> {
        Some(&self.estimate)
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    kept_between_executions!(rng, estimate);
}
