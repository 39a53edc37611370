//! The alternation of the requested strategies, and the continuation of a search that was killed.

use std::time::Instant;

use super::{Explorer, note_progress};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineMemory, engine_vec};
use crate::execution::Timers;
use crate::harness::phase::{Phase, Phases};
use crate::harness::request::{Allowance, Isolation, Request, StrategyName};
use crate::harness::run::{BoxedStrategy, Root, set_boxed, set_strategy, strategy};
use crate::harness::{Paused, checkpoint_counters};
use crate::search::{Auto, Delay, Dpor, Icb, Pct, Portfolio, Pos, Random, Surw};

impl Explorer<'_> {
    /// Continues from the state of an earlier run, if there is one.
    pub(super) fn resume(&mut self, mut engine: Root, request: &Request) -> bool {
        let bytes = engine.exploration.checkpoints.take_earlier();
        let mut input = &bytes[..];
        let Some(start) = Codec::read(&mut input) else {
            return false;
        };
        self.current.start = start;
        let Some(phases) = Phases::read(&mut input) else {
            return false;
        };
        let begun = engine.exploration.phases;
        engine.exploration.phases = phases;
        if phases.phase == Phase::Early {
            engine.execution.timers = Timers::Any;
        }
        if self.set_next_strategies(engine, request)
            && strategy(engine).load(&mut input)
            && let Some(budget) = checkpoint_counters::read(&mut engine, &mut input)
        {
            self.budget = budget;
            if engine.exploration.changes_process.is_some() && self.isolation != Isolation::Fork {
                self.fork_each(engine);
            }
            return true;
        }
        self.current.start = 0;
        engine.exploration.phases = begun;
        engine.execution.timers = request.timers;
        false
    }

    /// Offers the state of the search, from which it can continue after a kill, if its strategy
    /// supports that.
    #[inline]
    pub(super) fn offer_state(&self, mut engine: Root) {
        if !engine.exploration.checkpoints.is_wanted() {
            return;
        }
        let start = Instant::now();
        let room = engine.exploration.checkpoints.take_room();
        let state = self.state(engine, room);
        let schedules = engine.exploration.schedules;
        engine
            .exploration
            .checkpoints
            .answer(schedules, state, start.elapsed());
    }

    /// Whether the search pauses here. Then its state is left for the process that continues it.
    pub(super) fn pauses(&self, mut engine: Root, request: &Request) -> bool {
        if request.pause == 0 || engine.exploration.work < request.pause {
            return false;
        }
        let state = self.state(engine, Checkpoint::new());
        note_progress(engine);
        let exploration = &mut engine.exploration;
        exploration.paused = Some(match state {
            Some(_) => Paused::Resumable,
            None => Paused::Lost,
        });
        exploration.checkpoints.last = state;
        true
    }

    /// Writes the state that a process needs to continue the search into `room`; `None` if the
    /// search cannot be saved.
    fn state(&self, engine: Root, mut state: Checkpoint) -> Option<Checkpoint> {
        self.current.start.write(&mut state);
        engine.exploration.phases.write(&mut state);
        let is_whole = strategy(engine).save(&mut state)
            && checkpoint_counters::write(&engine, self.budget, &mut state);
        is_whole.then_some(state)
    }

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
