//! `Barrier`: a copy of the code of the real type, because the state of a real barrier is not
//! accessible.

use std::fmt;
use std::panic::{Location, RefUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::execution::{self, Effect, Op};

/// See [`std::sync::Barrier`].
pub struct Barrier {
    /// Tasks run one at a time, and have no scheduling point while they hold this lock. So a task
    /// always finds the lock free.
    lock: Mutex<State>,
    /// The condition variable of threads that are not tasks.
    condvar: Condvar,
    threads: usize,
}

struct State {
    arrived: usize,
    generation: usize,
}

/// See [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl RefUnwindSafe for Barrier {}

impl Barrier {
    #[inline]
    #[must_use]
    pub const fn new(n: usize) -> Barrier {
        Barrier {
            lock: Mutex::new(State {
                arrived: 0,
                generation: 0,
            }),
            condvar: Condvar::new(),
            threads: n,
        }
    }

    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if !execution::active() {
            return self.wait_as_a_thread();
        }
        let (op, object, site) = (
            Op::BarrierWait,
            (&raw const *self).addr(),
            Location::caller(),
        );
        execution::before(op, object, site);
        execution::effect(op, object, Effect::Write, site);
        let (is_leader, generation) = self.state().arrive(self.threads);
        if is_leader {
            execution::wake_all(object);
            return BarrierWaitResult(true);
        }
        while self.state().generation == generation {
            execution::wait(op, object, None, site);
        }
        BarrierWaitResult(false)
    }

    fn wait_as_a_thread(&self) -> BarrierWaitResult {
        let mut state = self.state();
        let (is_leader, generation) = state.arrive(self.threads);
        if is_leader {
            self.condvar.notify_all();
            return BarrierWaitResult(true);
        }
        while state.generation == generation {
            let waited = self.condvar.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        BarrierWaitResult(false)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Records that the caller has arrived. Returns whether the caller is the last thread of the
    /// current generation, and the number of this generation.
    fn arrive(&mut self, threads: usize) -> (bool, usize) {
        let generation = self.generation;
        self.arrived += 1;
        let is_leader = self.arrived >= threads;
        if is_leader {
            self.arrived = 0;
            self.generation = generation.wrapping_add(1);
        }
        (is_leader, generation)
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
