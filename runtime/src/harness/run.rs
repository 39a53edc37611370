//! One execution: the start of its first task, and the return of control at its end.

use core::ffi::c_int;
use std::ops::{Deref, DerefMut};

use super::body;
use crate::base::memory::{EngineMemory, engine_vec};
use crate::execution::{self, Ending, Entry, Groups, State, execution};
use crate::harness::engine::{Engine, engine};
use crate::monitor::race::Group;
use crate::monitor::{Death, Failure, Monitor};
use crate::platform::handover::{self, Flow};
use crate::platform::stack_pool::DEFAULT_STACK;
use crate::platform::{context, heap, streams};
use crate::search::{Replay, Strategy};

/// The engine, as the exploring thread sees it. It is borrowed anew at each use, since tasks change
/// it while they run.
#[derive(Clone, Copy)]
pub(super) struct Root;

impl Deref for Root {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        // SAFETY: between executions only this thread uses the engine, and no borrow is held while
        // tasks run.
        unsafe { &*engine() }
    }
}

impl DerefMut for Root {
    fn deref_mut(&mut self) -> &mut Engine {
        // SAFETY: as `deref`.
        unsafe { &mut *engine() }
    }
}

/// Runs a task that makes std initialise the parts that it initialises on first use.
pub(super) fn warm_up(engine: Root) {
    set_strategy(engine, Replay::new(engine_vec()));
    run_tasks(engine, Entry::Rust(body::warm_up, core::ptr::null_mut()));
}

/// A strategy in the engine's memory.
pub(super) type BoxedStrategy = Box<dyn Strategy, EngineMemory>;

pub(super) fn set_strategy(engine: Root, strategy: impl Strategy + 'static) {
    set_boxed(engine, Box::new_in(strategy, EngineMemory));
}

pub(super) fn set_boxed(mut engine: Root, strategy: BoxedStrategy) {
    engine.execution.log.trace.is_wanted = wants_trace(engine, &*strategy);
    engine.exploration.checkpoints.withdraw();
    engine.execution.strategy = Some(strategy);
}

/// Whether executions must record a trace: for the strategy, for the memory model (to find the
/// stores that an atomic operation may meet), or for the labels of operations.
pub(super) fn wants_trace(engine: Root, strategy: &dyn Strategy) -> bool {
    let log = &engine.execution.log;
    strategy.wants_trace() || engine.monitors.races.memory.is_on || log.wants_labels
}

pub(super) fn strategy(_: Root) -> &'static mut dyn Strategy {
    // SAFETY: as `Root`; each use ends before control passes to a task.
    let execution = unsafe { &mut *execution() };
    &mut **execution.strategy.as_mut().expect("a strategy was set")
}

/// Runs one execution whose first task is `entry`.
pub(super) fn run_tasks(mut engine: Root, entry: Entry) {
    let Some(first) = engine.begin(entry) else {
        engine.execution.ending = Ending::NoDonor(DEFAULT_STACK);
        return;
    };
    let backend = engine.pool.backend();
    // SAFETY: the first task is new, and no borrow of the engine is held.
    unsafe { handover::transfer(backend, Flow::of_explorer(), first) };
    engine.end();
}

impl Engine {
    /// Prepares an execution. Returns the flow of its first task. `None` if no donor (a thread
    /// that lends its stack to a task) is free.
    fn begin(&mut self, entry: Entry) -> Option<Flow> {
        let Self {
            execution,
            monitors,
            pool,
            process,
            ..
        } = self;
        execution.reset();
        let points = &monitors.races.points;
        execution.streams.begin(points.has(Group::Streams));
        execution.tokens.begin(points.has(Group::Tokens));
        execution.files.begin(Groups {
            on_files: points.has(Group::Files),
            on_descriptors: points.has(Group::Descriptors),
            on_clock: points.has(Group::Clock),
        });
        execution.log.trace.is_irregular = !streams::are_known();
        monitors.begin();
        process.begin();
        let observers = &execution.observers;
        // Accesses to plain memory are checked against the free blocks.
        let is_looked_at = observers.of_pointers || observers.of_accesses;
        heap::begin(is_looked_at || monitors.watches_heap());
        let first = execution.add_task(pool, entry, DEFAULT_STACK)?;
        self.explorer.context.thread_pointer = context::thread_pointer();
        Some(execution.task(first).flow)
    }

    /// The failure that follows from the death of the process during the execution. `status` is
    /// the wait status of the process.
    pub(super) fn death(&mut self, status: c_int) -> Failure {
        let fault = self.execution.fault;
        self.exploration.signal = status & 0x7f;
        let death = Death {
            execution: &self.execution,
            status,
            fault,
            overflows: fault.is_some_and(|at| self.pool.overflowed(at).is_some()),
        };
        let failure = self.monitors.died(&death);
        failure.expect("a monitor judges each death")
    }

    /// Ends the execution: ends its child processes, informs the monitors, and returns the donors
    /// (the threads that lend their stacks to tasks) to the pool. The pool lends the last returned
    /// donor first. The first task's donor is returned last, so the first task of the next
    /// execution has the same stack addresses.
    fn end(&mut self) {
        self.execution.descriptors.children.end();
        self.monitors.ended(&self.execution);
        for task in self.execution.schedule.tasks[..self.execution.schedule.live]
            .iter()
            .rev()
        {
            if task.donor == execution::Task::NO_DONOR {
                continue;
            }
            if task.state != State::Finished {
                self.pool.abandon(task.donor);
            }
            self.pool.release(task.donor);
        }
    }
}
