//! Estimates of the number of schedules of a program, from those that were run (Knuth, "Estimating
//! the efficiency of backtrack programs", Mathematics of Computation 29, 1975). The samplers and
//! `delay` use them. `icb` and `dpor` compute the explored part from their own trees (`explored`).

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{Codec, codec};

/// The way in which a strategy draws schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draw {
    /// Each choice of a decision is equally likely. Then the expected product of the numbers of
    /// choices in an execution equals the number of schedules (the estimate of Knuth).
    Walk,
    /// Each schedule is about equally likely, or runs once. A schedule whose numbers of choices
    /// have the product `p` represents the part `1 / p` of all schedules. The estimate divides the
    /// number of runs by the sum of these parts (Kilby, Slaney, Thiébaux and Walsh, AAAI'06).
    Even,
}

impl Codec for Draw {
    fn write(&self, out: &mut Checkpoint) {
        (*self == Self::Walk).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(input)? {
            Self::Walk
        } else {
            Self::Even
        })
    }
}

/// The estimate of the number of schedules. It is updated after each execution.
#[derive(Clone, Debug)]
pub struct Estimate {
    draw: Draw,
    runs: u64,
    /// With [`Draw::Walk`], the sum of the products of the numbers of choices in each execution.
    /// With [`Draw::Even`], the sum of the reciprocals of these products.
    sum: f64,
    /// The product of the numbers of choices in the current execution.
    product: f64,
}

codec!(Estimate {
    draw,
    runs,
    sum,
    product
});

impl Estimate {
    /// An estimate before the first execution.
    pub const fn new(draw: Draw) -> Self {
        Self {
            draw,
            runs: 0,
            sum: 0.0,
            product: 1.0,
        }
    }

    /// Begins an execution.
    #[inline]
    pub fn begin(&mut self) {
        self.product = 1.0;
    }

    /// Records a decision among `choices` choices that are equally likely.
    #[inline]
    pub(crate) fn chose(&mut self, choices: u32) {
        self.product *= f64::from(choices);
    }

    /// Records a decision. The choice that was made had a probability of `1 / once_in`.
    pub(crate) fn chose_with_odds(&mut self, once_in: f64) {
        self.product *= once_in;
    }

    /// Records the end of the execution.
    pub fn observe(&mut self) {
        self.runs += 1;
        self.sum += match self.draw {
            Draw::Walk => self.product,
            Draw::Even => self.product.recip(),
        };
    }

    /// The estimated number of schedules; infinite if there is no estimate.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn schedules(&self) -> f64 {
        let runs = self.runs as f64;
        match self.draw {
            _ if self.runs == 0 => f64::INFINITY,
            Draw::Walk => self.sum / runs,
            Draw::Even => runs / self.sum,
        }
    }

    /// The estimated part of the schedules that was run, if schedules may have been run twice.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn sampled(&self) -> f64 {
        -(-(self.runs as f64) / self.schedules()).exp_m1()
    }

    /// The estimated part of the schedules that was run, if no schedule was run twice.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn covered(&self) -> f64 {
        (self.runs as f64 / self.schedules()).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Act, Program};
    use super::super::{Delay, Pos, Random, Strategy, Surw};

    /// Two tasks of four steps each: three additions and the end. There are 8 choose 4 schedules.
    fn rivals() -> Program {
        vec![vec![Act::Add(0); 3]; 2]
    }

    fn after(mut search: impl Strategy, runs: u32) -> (f64, f64) {
        for _ in 0..runs {
            search.begin();
            testing::execute(&rivals(), &mut search);
        }
        let estimate = search.estimate().unwrap();
        (estimate.schedules(), search.explored().unwrap())
    }

    #[test]
    fn random_walks_find_the_number_of_schedules() {
        let (schedules, explored) = after(Random::new(1), 2000);
        assert!((65.0..75.0).contains(&schedules), "{schedules}");
        assert!(explored > 0.99, "{explored}");
        let (_, explored) = after(Random::new(1), 10);
        assert!((0.05..0.25).contains(&explored), "{explored}");
    }

    #[test]
    fn a_search_that_runs_each_schedule_once_ends_with_all_of_them() {
        let (schedules, explored) = after(Delay::new(u64::MAX), 70);
        assert!((schedules - 70.0).abs() < 1e-6, "{schedules}");
        assert!((explored - 1.0).abs() < 1e-6, "{explored}");
        let (_, explored) = after(Delay::new(u64::MAX), 35);
        assert!((0.1..0.9).contains(&explored), "{explored}");
    }

    #[test]
    fn other_draws_estimate_the_order_of_magnitude() {
        for (schedules, _) in [after(Pos::new(1), 2000), after(Surw::new(1), 2000)] {
            assert!((40.0..140.0).contains(&schedules), "{schedules}");
        }
    }
}
