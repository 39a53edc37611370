//! `random`: a uniform choice among the enabled tasks at each scheduling point.

use super::stored::kept_between_executions;
use super::{ChoicePoint, Ended, Progress, Rng, SchedulingPoint, Strategy};

/// One in so many operations may take an outcome that is not the ordinary one.
const UNUSUAL: u64 = 16;

/// Draws an operation's outcome: evenly, but for those that cost.
pub(super) fn draw_outcome(rng: &mut Rng, point: &ChoicePoint<'_>) -> u32 {
    if point.costs && !is_unusual(rng) {
        return 0;
    }
    rng.below(point.outcomes.into()) as u32
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
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            start: Rng::new(seed),
        }
    }
}

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn begin(&mut self) -> bool {
        self.start = self.rng.clone();
        true
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        self.rng.below(point.options.len() as u64) as usize
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        draw_outcome(&mut self.rng, point)
    }

    fn retry(&mut self) {
        self.rng = self.start.clone();
    }

    fn end(&mut self, _execution: &Ended<'_>) {}

    fn progress(&self) -> Progress {
        Progress::default()
    }

    kept_between_executions!(rng);
}
