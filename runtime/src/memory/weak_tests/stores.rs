//! Implements the memory of `chess_search`'s test machines with the runtime's memory models.

use core::sync::atomic::Ordering;

use super::super::{Access, At, Kind, Model, Performed, State, Word, Would};
use crate::monitor::race::Races;
use crate::search::Trace;
use crate::search::testing::{Atomic, Memory, OBJECTS};
use chess_vocabulary::{Op, TaskId};

/// The access to the value `v`.
fn access_of(atomic: Atomic, v: u32) -> Access {
    let (kind, order, failure) = match atomic {
        Atomic::Load(order) => (Kind::Load, order, order),
        Atomic::Store(_, order) => (Kind::Store, order, order),
        Atomic::Add(_, order) | Atomic::Swap(_, order) => (Kind::Update, order, order),
        Atomic::Exchange(_, _, success, failure) => (Kind::Update, success, failure),
    };
    Access {
        address: 8 * (v as usize + 1),
        size: 8,
        kind,
        order,
        failure,
    }
}

/// The stores, and the knowledge of each task about the other tasks.
pub(super) struct Stores {
    races: Races,
    /// The tasks that held each lock, in order.
    locks: Vec<Vec<u64>>,
    /// Whether an update that leaves the value unchanged is treated as a load if no other task can
    /// synchronize with its task through the store. The shims do so.
    pub(super) reads_kept: bool,
    /// The stale-load monitor found an access that could have had a late effect.
    pub(super) found_late_effect: bool,
    /// The stale-load monitor could not decide whether accesses could have had late effects.
    pub(super) is_unclear: bool,
    /// For each task, whether it has performed a fence.
    fenced: Vec<bool>,
}

/// The value that an access writes if it meets a store of the value `met`.
fn written(access: Atomic, met: u64, reads_kept: bool) -> Option<u64> {
    let written = access.written(met);
    let is_load = reads_kept
        && written == Some(met)
        && !matches!(access, Atomic::Store(..))
        && matches!(access.order(true), Ordering::Relaxed | Ordering::Acquire);
    written.filter(|_| !is_load)
}

fn lock_address(lock: u32) -> usize {
    0x1000 + lock as usize
}

impl Stores {
    pub(super) fn new(model: Model) -> Self {
        let mut races = Races::new();
        races.turn_on(false);
        races.memory.turn_on(model);
        Self {
            races,
            locks: Vec::new(),
            reads_kept: false,
            found_late_effect: false,
            is_unclear: false,
            fenced: Vec::new(),
        }
    }

    /// The memory for executions that stay sequentially consistent. The stale-load monitor notes the
    /// late effects that C11 would allow in them.
    pub(super) fn watching() -> Self {
        let mut weak = Self::new(Model::C11);
        weak.races.memory.watch();
        weak
    }
}

impl Memory for Stores {
    fn begin(&mut self, tasks: usize) {
        self.races.renew(true);
        // The creation of the tasks is no part of the graph.
        self.races.memory.is_on = false;
        self.locks = vec![Vec::new(); OBJECTS];
        self.fenced = vec![false; tasks];
        self.races.add_task(TaskId(0), None);
        for task in 1..tasks {
            self.races.spawned(TaskId(0), TaskId(task as u32), None);
        }
        self.races.memory.is_on = true;
    }

    fn offer(&mut self, task: usize, v: u32, access: Atomic, current: u64, trace: &Trace) -> u32 {
        let reads_kept = self.reads_kept && !self.fenced[task];
        let would = |met: Word| match access.written(met.bits()) {
            None => Would::Fail,
            Some(_) if written(access, met.bits(), reads_kept).is_none() => Would::Keep,
            Some(_) => Would::Write,
        };
        let state = State {
            current: Word::of_bits(current),
            version: 0,
            last: None,
            trace: Some(trace),
        };
        let offered =
            self.races
                .offer_stores(TaskId(task as u32), &access_of(access, v), &state, would);
        if self.races.memory.stale.is_on {
            self.found_late_effect |= offered > 1;
            return 1;
        }
        offered
    }

    fn name(&self, v: u32, access: Atomic, choice: u32) -> u64 {
        self.races.memory.name(&access_of(access, v), choice)
    }

    fn perform(
        &mut self,
        task: usize,
        v: u32,
        access: Atomic,
        choice: u32,
        step: u32,
    ) -> (Option<u64>, Option<u64>) {
        let met = self
            .races
            .memory
            .value(&access_of(access, v), choice)
            .bits();
        let written = written(access, met, self.reads_kept && !self.fenced[task]);
        let performed = Performed {
            choice,
            written: written.map(Word::of_bits),
            is_kept: !matches!(access, Atomic::Store(..)) && access.written(met) == Some(met),
            order: access.order(access.written(met).is_some()),
        };
        self.races.meet_store(
            TaskId(task as u32),
            &access_of(access, v),
            performed,
            At {
                step,
                event: 0,
                site: None,
            },
            (access.op(), None),
        );
        self.is_unclear |= self.races.misses_late_effects();
        let read = !matches!(access, Atomic::Store(..));
        (read.then_some(met), written)
    }

    fn fence(&mut self, task: usize, order: Ordering) {
        self.fenced[task] = true;
        self.races.fence(TaskId(task as u32), order, None);
    }

    fn lock(&mut self, task: usize, lock: u32) {
        self.locks[lock as usize].push(task as u64);
        self.races
            .acquire(TaskId(task as u32), lock_address(lock), true);
    }

    fn unlock(&mut self, task: usize, lock: u32) {
        let op = (Op::MutexUnlock, None);
        self.races
            .release(TaskId(task as u32), lock_address(lock), true, op);
    }

    fn graph(&self) -> Vec<u64> {
        let addresses = (0..OBJECTS).map(|v| 8 * (v + 1));
        let mut graph = self.races.memory.graph(addresses);
        for lock in &self.locks {
            graph.push(u64::MAX);
            graph.extend(lock);
        }
        graph
    }
}
