//! Checkpoints of the running search: the continuation from an earlier one, and the state for the
//! next one.

use std::time::{Duration, Instant};

use super::{Explorer, note_progress};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::execution::Timers;
use crate::harness::phase::{Phase, Phases};
use crate::harness::request::{Isolation, Request};
use crate::harness::run::{Root, strategy};
use crate::harness::{Paused, checkpoint_counters};

impl Explorer<'_> {
    /// Continues from the state of an earlier run. Returns `false` if there is no such state, or
    /// if it cannot be read.
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
            engine.execution.options.timers = Timers::Any;
        }
        if self.set_next_strategies(engine, request)
            && strategy(engine).load(&mut input)
            && let Some(budget) = checkpoint_counters::read(&mut engine, &mut input)
        {
            self.budget = budget;
            self.earlier = engine.exploration.schedules;
            if engine.exploration.changes_process.is_some() && self.isolation != Isolation::Fork {
                self.fork_each(engine);
            }
            return true;
        }
        self.current.start = 0;
        engine.exploration.phases = begun;
        engine.execution.options.timers = request.timers;
        false
    }

    /// Answers the zygote if it has requested the state of the search. After a kill, a later run
    /// can continue from this state. The answer has no state if the search cannot be saved.
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

    /// Whether the search pauses here, because it has done the requested work, or has taken the
    /// requested time. If it does, keeps the state of the search for the process that continues
    /// it.
    pub(super) fn pauses(&self, mut engine: Root, request: &Request) -> bool {
        let has_worked = request.pause > 0 && engine.exploration.work >= request.pause;
        if !has_worked && !self.has_taken(engine.exploration.schedules, request.pause_ms) {
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

    /// Whether this process has explored for `limit` milliseconds; `schedules` includes those of
    /// earlier processes. At least one schedule runs. The clock is read after the first schedules,
    /// which may be long, and then after every eighth one: a schedule can be so short that the
    /// clock would take a fiftieth of its time.
    fn has_taken(&self, schedules: u64, limit: u64) -> bool {
        let own = schedules - self.earlier;
        limit > 0
            && own > 0
            && (own < 8 || own.is_multiple_of(8))
            && self.started.elapsed() >= Duration::from_millis(limit)
    }

    /// Appends to `state` all that a process needs to continue the search. Returns the extended
    /// state, or `None` if the search cannot be saved.
    fn state(&self, engine: Root, mut state: Checkpoint) -> Option<Checkpoint> {
        self.current.start.write(&mut state);
        engine.exploration.phases.write(&mut state);
        let is_whole = strategy(engine).save(&mut state)
            && checkpoint_counters::write(&engine, self.budget, &mut state);
        is_whole.then_some(state)
    }
}
