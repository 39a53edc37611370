//! `Barrier`.

use std::fmt;
use std::panic::Location;
use std::sync::PoisonError;

use crate::execution::{self, Effect, Op};

/// See [`std::sync::Barrier`].
pub struct Barrier {
    real: std::sync::Barrier,
    /// The tasks' own view. They run one at a time, so this lock is always free.
    state: std::sync::Mutex<State>,
    threads: usize,
}

struct State {
    arrived: usize,
    generation: usize,
}

/// See [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl Barrier {
    #[inline]
    pub const fn new(n: usize) -> Barrier {
        Barrier {
            real: std::sync::Barrier::new(n),
            state: std::sync::Mutex::new(State {
                arrived: 0,
                generation: 0,
            }),
            threads: n,
        }
    }

    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if !execution::active() {
            return BarrierWaitResult(self.real.wait().is_leader());
        }
        let (op, object, site) = (
            Op::BarrierWait,
            (&raw const *self).addr(),
            Location::caller(),
        );
        execution::before(op, object, site);
        execution::effect(op, object, Effect::Write, site);
        let generation = {
            let mut state = self.state();
            state.arrived += 1;
            if state.arrived >= self.threads {
                state.arrived = 0;
                state.generation = state.generation.wrapping_add(1);
                drop(state);
                execution::wake_all(object);
                return BarrierWaitResult(true);
            }
            state.generation
        };
        while self.state().generation == generation {
            execution::wait(op, object, None, site);
        }
        BarrierWaitResult(false)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BarrierWaitResult {
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}
