//! Operations under a weak memory model. The order of tasks follows from the stores that their
//! operations read.

use super::release_acquire::IS_X86;
use super::shim_interface::Atomic;
use super::task_order::TaskOrder;
use super::{Epoch, Races};
use crate::execution::{Op, Site, TaskId};
use crate::memory::{Access, At, Kind, Knowledge, Model, Performed, State, Word, Would, releases};
use core::sync::atomic::Ordering;

fn knowledge(own: &mut TaskOrder, task: TaskId, epoch: Epoch) -> Knowledge<'_> {
    Knowledge {
        task,
        entry: own.entry,
        epoch,
        clock: &mut own.clock,
        released: &own.released,
        readable: &mut own.readable,
    }
}

impl Races {
    /// Whether the stores of this execution are kept, and the monitor has not given up.
    #[inline]
    pub(crate) fn keeps_stores(&self) -> bool {
        self.memory.is_on && self.is_on
    }

    /// Whether atomic operations of this execution could have met older stores that were not
    /// offered to the search.
    pub(crate) fn misses_late_effects(&self) -> bool {
        let is_limited = self.memory.is_limited || self.memory.stale.is_limited;
        self.memory.model.is_weak() && (is_limited || self.given_up.is_some())
    }

    /// The number of stores that an operation of `task` may meet: see
    /// [`Memory::offer`](crate::memory::Memory::offer).
    pub(crate) fn offer_stores(
        &mut self,
        task: TaskId,
        access: &Access,
        state: &State<'_>,
        would: impl Fn(Word) -> Would,
    ) -> u32 {
        let Some(epoch) = self.epoch_of(task) else {
            return 0;
        };
        let known = knowledge(self.tasks.get_mut(task), task, epoch);
        self.memory.offer(&known, access, state, would)
    }

    /// Records the access for which [`Self::offer_stores`] was called. `performed` is the result of
    /// the access.
    pub(crate) fn meet_store(
        &mut self,
        task: TaskId,
        access: &Access,
        performed: Performed,
        at: At,
        (op, site): (Op, Option<Site>),
    ) {
        let Some(epoch) = self.epoch_of(task) else {
            return;
        };
        // As under sequential consistency, such an exchange is a fence on x86: see `IS_X86`.
        let is_fence = IS_X86
            && (self.memory.model != Model::C11 || self.memory.stale.is_on)
            && access.kind == Kind::Update
            && performed.order == Ordering::SeqCst;
        let own = self.tasks.get_mut(task);
        if is_fence {
            self.memory.stale.note_fence(&own.clock, &own.readable);
            own.clock.join(&own.readable);
        }
        // A relaxed store after such an exchange releases the operations before the exchange only
        // on x86.
        let writes = performed.written.is_some();
        let is_relaxed = writes && !releases(performed.order);
        self.memory.stale.is_limited |=
            self.memory.stale.is_on && own.has_released_by_exchange && is_relaxed;
        let mut known = knowledge(own, task, epoch);
        self.memory.perform(&mut known, access, performed, at);
        if is_fence {
            own.released.assign(&own.clock);
            own.has_released_by_exchange = true;
        }
        // A failing exchange releases as a fence, and must not release later operations.
        if is_fence || writes && releases(performed.order) {
            self.end_epoch(task, op, site);
        }
    }

    /// As [`Self::meet_store`], but also checks for races with other accesses to the location.
    pub(super) fn perform_atomic(
        &mut self,
        task: TaskId,
        access: &Access,
        performed: Performed,
        at: At,
        report: Atomic,
    ) {
        self.note_atomic(task, access.address, access.size, report, false);
        if self.is_on {
            self.meet_store(task, access, performed, at, (report.op, report.site));
        }
    }

    /// Logs a fence of `task`. Called after the fence has acquired, and before it releases.
    pub(super) fn log_fence(&mut self, task: TaskId, order: Ordering) {
        if self.keeps_stores()
            && let Some(epoch) = self.epoch_of(task)
        {
            let known = knowledge(self.tasks.get_mut(task), task, epoch);
            self.memory.fence(&known, order);
        }
    }

    /// Logs an operation of `task` on a lock, or on another object that orders tasks and is no
    /// atomic location.
    #[inline]
    pub(super) fn log_other(&mut self, task: TaskId) {
        if self.memory.is_on {
            self.log_some(task);
        }
    }

    #[cold]
    fn log_some(&mut self, task: TaskId) {
        if self.is_on
            && let Some(epoch) = self.epoch_of(task)
        {
            let known = knowledge(self.tasks.get_mut(task), task, epoch);
            self.memory.other(&known);
        }
    }
}
