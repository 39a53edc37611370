//! The requested strategies, one after the other: the construction of the next one.
//!
//! Consecutive strategies that share a budget become the members of one portfolio (`portfolio.rs`
//! of `chess_search`), which alternates between them in slices.

use super::Explorer;
use crate::base::memory::{EngineMemory, engine_vec};
use crate::harness::request::{Allowance, Request, StrategyName};
use crate::harness::run::{BoxedStrategy, Root, set_boxed, set_strategy, strategy};
use crate::search::{Auto, Delay, Dpor, Icb, Pct, Portfolio, Pos, Random, Surw};

impl Explorer<'_> {
    /// Sets the next one of the requested strategies. Returns whether there is one. Consecutive
    /// strategies that share a budget count as one.
    pub(super) fn set_next_strategies(&mut self, mut engine: Root, request: &Request) -> bool {
        let rest = request
            .strategies
            .get(self.current.start..)
            .unwrap_or_default();
        let mut groups = rest.chunk_by(|a, b| a.alternates() && b.alternates());
        let Some(group) = groups.next() else {
            return false;
        };
        self.current.end = self.current.start + group.len();
        let exploration = &engine.exploration;
        let work = exploration.phases.work_left(exploration.work);
        let allowance = request.allowance(work, self.budget);
        self.spends_work = allowance.is_work;
        let mut members = engine_vec();
        for (place, &name) in self.current.clone().zip(group) {
            let seed = request.seed_of_part().wrapping_add(place as u64);
            members.push(self.strategy(name, request.preemptions, seed, allowance));
        }
        if members.len() == 1 {
            set_boxed(engine, members.remove(0));
        } else {
            set_strategy(engine, Portfolio::new(members));
        }
        if engine.exploration.failure.is_none() {
            engine.exploration.strategy = strategy(engine).name();
        }
        true
    }

    fn strategy(
        &self,
        name: StrategyName,
        preemptions: u32,
        seed: u64,
        allowance: Allowance,
    ) -> BoxedStrategy {
        let keep = allowance.schedules;
        match name {
            StrategyName::Auto => {
                let search = Auto::new(preemptions, allowance.amount, keep, seed, self.part);
                Box::new_in(search, EngineMemory)
            }
            StrategyName::Icb => {
                let search = Icb::new(preemptions, keep).of_part(self.part);
                Box::new_in(search, EngineMemory)
            }
            StrategyName::Dpor => Box::new_in(Dpor::new(), EngineMemory),
            StrategyName::Random => Box::new_in(Random::new(seed), EngineMemory),
            StrategyName::Pct => Box::new_in(Pct::new(seed), EngineMemory),
            StrategyName::Pos => Box::new_in(Pos::new(seed), EngineMemory),
            StrategyName::Surw => Box::new_in(Surw::new(seed), EngineMemory),
            StrategyName::Delay => Box::new_in(Delay::new(keep), EngineMemory),
        }
    }
}
