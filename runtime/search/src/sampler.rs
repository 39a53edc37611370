//! The common part of the sampling strategies: random numbers and the estimate. These strategies
//! never report completion.

use super::random::draw_outcome;
use super::{ChoicePoint, Draw, Ended, Estimate, Progress, SchedulingPoint, Strategy};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::rng::Rng;

/// The rule by which a sampling strategy draws the next task.
pub trait Rule: Default {
    /// The strategy's name on the command line.
    const NAME: &'static str;
    /// The distribution of the schedules that the rule draws.
    const DRAW: Draw = Draw::Even;
    /// Whether the rule reads traces.
    const WANTS_TRACE: bool = false;

    /// Begins or restarts an execution.
    fn begin(&mut self, _rng: &mut Rng) {}

    /// Chooses the task to run, as an index into the options of the point.
    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize;

    /// Learns from an execution that did not diverge.
    fn learn(&mut self, _execution: &Ended<'_>) {}

    /// Appends the state of the rule to the output. Returns `false` if the rule cannot be saved.
    fn save(&self, _out: &mut Checkpoint) -> bool {
        true
    }

    /// Reads the state of the rule from `input`. Returns `false` if the state is invalid.
    fn load(&mut self, _input: &mut &[u8]) -> bool {
        true
    }
}

/// A search that draws schedules by the rule `R`. Its seed determines all schedules.
pub struct Sampler<R> {
    rng: Rng,
    /// The state of the generator at the start of the current execution.
    start: Rng,
    estimate: Estimate,
    pub(super) rule: R,
}

impl<R: Rule> Sampler<R> {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            start: Rng::new(seed),
            estimate: Estimate::new(R::DRAW),
            rule: R::default(),
        }
    }
}

impl<R: Rule> Strategy for Sampler<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn begin(&mut self) -> bool {
        self.start = self.rng.clone();
        self.retry();
        true
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        if !point.may_overstay {
            self.estimate.chose(point.options.len() as u32);
            return self.rule.choose(&mut self.rng, point);
        }
        // Most tasks that yield repeatedly wait, and would wait in vain if they overstayed.
        let options = &point.options[..point.options.len() - 1];
        if options.len() == 1 {
            return 0;
        }
        self.choose_task(&SchedulingPoint {
            options,
            may_overstay: false,
            ..*point
        })
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        draw_outcome(&mut self.rng, &mut self.estimate, point)
    }

    fn retry(&mut self) {
        self.rng = self.start.clone();
        self.estimate.begin();
        self.rule.begin(&mut self.rng);
    }

    fn end(&mut self, execution: &Ended<'_>) {
        if !execution.diverged {
            self.estimate.observe();
            self.rule.learn(execution);
        }
    }

    fn wants_trace(&self) -> bool {
        R::WANTS_TRACE
    }

    fn estimate(&self) -> Option<&Estimate> {
        Some(&self.estimate)
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn save(&self, out: &mut Checkpoint) -> bool {
        self.rng.write(out);
        self.estimate.write(out);
        self.rule.save(out)
    }

    fn load(&mut self, input: &mut &[u8]) -> bool {
        let (Some(rng), Some(estimate)) = (Codec::read(input), Codec::read(input)) else {
            return false;
        };
        (self.rng, self.estimate) = (rng, estimate);
        self.rule.load(input)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Past, Pending, Pos, Random};
    use super::*;
    use crate::trace::Trace;
    use crate::{Op, TaskId};

    fn overstays<R: Rule>(mut search: Sampler<R>) -> usize {
        search.begin();
        let point = SchedulingPoint {
            index: 0,
            options: &[TaskId(1), TaskId(2), TaskId(0)],
            free: 2,
            may_overstay: true,
            prefix: 0,
            step: 0,
            event: 0,
            pending: &|_| Pending {
                op: Op::AtomicLoad,
                object: 1,
            },
            past: Past {
                trace: &Trace::new(),
                name: &|_| 0,
            },
        };
        (0..100).filter(|_| search.choose_task(&point) == 2).count()
    }

    #[test]
    fn samplers_let_no_task_overstay() {
        assert_eq!(overstays(Random::new(7)), 0);
        assert_eq!(overstays(Pos::new(7)), 0);
    }
}
