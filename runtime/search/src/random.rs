//! `random`: a uniform choice among the enabled tasks at each scheduling point.

use super::sampler::{Rule, Sampler};
use super::{ChoicePoint, Draw, Estimate, Outcomes, SchedulingPoint};
use crate::base::rng::Rng;

/// An operation may have an unusual outcome (a spurious event) with a probability of
/// `1 / UNUSUAL`.
const UNUSUAL: u64 = 16;

/// A rare event of the test may happen with a probability of `1 / RARE`.
const RARE: u64 = 4;

/// An operation that can have a late effect may have one with a probability of `1 / LATE`. The
/// probability is high, because few operations can have a late effect, and it nearly always
/// matters.
const LATE: u64 = 2;

/// Draws the outcome of an operation. If the outcomes cost nothing, each one is equally likely. If
/// they cost a preemption, the ordinary outcome is taken in most cases. In the other cases, with a
/// probability that depends on the kind ([`UNUSUAL`], [`RARE`] or [`LATE`]), each outcome is
/// equally likely.
pub(super) fn draw_outcome(rng: &mut Rng, estimate: &mut Estimate, point: &ChoicePoint<'_>) -> u32 {
    let one_in = match point.kind {
        Outcomes::Free | Outcomes::Data => {
            estimate.chose(point.outcomes);
            return rng.below(point.outcomes.into()) as u32;
        }
        Outcomes::Spurious => UNUSUAL,
        Outcomes::Rare => RARE,
        Outcomes::Late(_) => LATE,
    };
    let outcome = if rng.below(one_in) == 0 {
        rng.below(point.outcomes.into()) as u32
    } else {
        0
    };
    let each = f64::from(point.outcomes) * one_in as f64;
    let ways = match outcome {
        0 => each - f64::from(point.outcomes) + 1.0,
        _ => 1.0,
    };
    estimate.chose_with_odds(each / ways);
    outcome
}

/// Draws whether an unusual event happens, with a probability of `1 / UNUSUAL`.
pub(super) fn is_unusual(rng: &mut Rng) -> bool {
    rng.below(UNUSUAL) == 0
}

/// The random walk.
pub type Random = Sampler<Walk>;

/// Chooses each task with the same probability.
#[derive(Default)]
pub struct Walk;

impl Rule for Walk {
    const NAME: &'static str = "random";
    const DRAW: Draw = Draw::Walk;

    #[inline]
    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        rng.below(point.options.len() as u64) as usize
    }
}
