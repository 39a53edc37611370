//! The calls of the monitors, and the end of an execution that a monitor stops.

use core::ops::ControlFlow;

use super::current::running;
use super::monitor_hooks::{DataAccess, MonitorHooks as _, SyncAccess};
use super::state::{Ending, Execution};
use super::terms::{Site, Step};
use super::transfer::perform;
use super::{Effect, Op};
use crate::monitor::{Monitors, monitors};
use crate::platform::heap::{Allocation, Block, Free};
use crate::search::ObjectId;

/// The implementation of [`super::MonitorHooks`]. Only this line below the monitors names them.
pub(super) type Hooks = Monitors;

impl Execution {
    /// Announces to the monitors that the current task arrives before an operation.
    #[inline]
    pub(super) fn report_point(&self) {
        // SAFETY: one task runs at a time, and monitors do not call the engine.
        unsafe { (*monitors()).scheduling_point(self) };
    }

    /// Reports an operation of the current task to the monitors. Returns whether the execution
    /// continues.
    #[inline]
    pub(super) fn report_access(
        &mut self,
        op: Op,
        object: ObjectId,
        effect: Effect,
        site: Option<Site>,
    ) -> Step {
        let may_be_free = object != ObjectId::NONE && self.objects.take_doubt(object);
        // SAFETY: as in `report_point`.
        if !may_be_free && !unsafe { (*monitors()).wants_accesses() } {
            return Step::Continue;
        }
        self.call_monitors(SyncAccess {
            op,
            object,
            effect,
            site,
            may_be_free,
        })
    }

    /// Reports to the monitors that the current task waits in a loop without a yield. Returns
    /// whether the execution continues.
    #[cold]
    pub(super) fn report_spin(&self) -> ControlFlow<()> {
        let Some(read) = self.tasks.running().spin.repeated() else {
            return ControlFlow::Continue(());
        };
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).spins(self, read) }
    }

    /// Whether it is a failure that the current task runs without yielding.
    #[cold]
    pub(super) fn denies_spins(&self) -> bool {
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).spins.denies(self.tasks.running().site) }
    }

    #[inline(never)]
    fn call_monitors(&mut self, access: SyncAccess) -> Step {
        // SAFETY: as in `report_point`.
        match unsafe { (*monitors()).sync_access(self, access) } {
            ControlFlow::Continue(()) => Step::Continue,
            ControlFlow::Break(()) => self.stop(),
        }
    }

    /// Stops the execution for a monitor. If the caller cannot leave the execution, the task's next
    /// step does.
    #[cold]
    pub(crate) fn stop(&mut self) -> Step {
        self.horizon = 0;
        self.end(Ending::Stopped)
    }

    /// Whether the execution will be repeated for the monitors.
    #[cold]
    pub(super) fn must_repeat() -> bool {
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).must_repeat() }
    }

    /// The ending of an execution that is given up.
    pub(super) fn given_up(&self) -> Ending {
        // SAFETY: as in `report_point`.
        let ending = unsafe { (*monitors()).given_up(self) };
        ending.unwrap_or(Ending::TooLong)
    }
}

/// Records an event for an access to plain memory, with a scheduling point before it if it
/// `is_point`. The objects of the event are the granules of the accessed memory, so that accesses
/// to the same granule depend on each other.
#[cold]
pub(crate) fn plain_access(access: DataAccess, is_point: bool) {
    const GRANULE: usize = 8;
    /// The maximum number of granules that one access touches individually.
    const MOST: usize = 64;
    let Some(execution) = running() else { return };
    let op = if access.is_write {
        Op::PlainWrite
    } else {
        Op::PlainRead
    };
    let (first, end) = (
        access.address & !(GRANULE - 1),
        access.address + access.size,
    );
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).object(first);
        if !is_point {
            perform((*execution).log_event(op, object, op.effect(), Some(access.site)));
            return;
        }
        perform((*execution).arrive(op, object, Some(access.site)));
        perform((*execution).record(op, object, op.effect(), Some(access.site)));
        for granule in (first..end).step_by(GRANULE).skip(1).take(MOST) {
            let object = (*execution).object(granule);
            perform((*execution).touch(object, op.effect()));
        }
        if end - first > MOST * GRANULE {
            (*execution).log.trace.is_irregular = true;
        }
    }
}

/// Reports that the task allocated a block.
#[inline]
pub(crate) fn allocated(allocation: Allocation) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; monitors do not call the engine.
    unsafe { (*monitors()).allocated(&*execution, allocation) };
}

/// Reports that the task freed a block and reallocated the same one.
#[inline]
pub(crate) fn reallocated(old: Block, new: Block) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; monitors do not call the engine, and no reference lives
    // across `perform`.
    unsafe {
        if (*monitors()).frees(&*execution, Free::Live(old)).is_break() {
            perform((*execution).stop());
        }
        let allocation = Allocation {
            block: new,
            is_reused: true,
        };
        (*monitors()).allocated(&*execution, allocation);
    }
}

/// Marks the synchronization objects in a block that the task frees.
#[cold]
pub(crate) fn frees_objects(start: usize, size: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: as in `reallocated`.
    unsafe { (*execution).objects.doubt(start, size) };
}

/// Reports that the task is about to free memory. Does not return if that is an error.
/// `has_objects` (whether synchronization objects lie there) and `class` are known only for live
/// blocks. Returns whether the block is kept for a choice.
#[inline]
pub(crate) fn frees(free: Free, has_objects: bool, class: usize) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    // SAFETY: as in `reallocated`.
    unsafe {
        if (*monitors()).frees(&*execution, free).is_break() {
            perform((*execution).stop());
        }
        let Free::Live(block) = free else {
            return false;
        };
        if has_objects {
            (*execution).objects.doubt(block.start, block.size);
        }
        (*execution).observers.of_pointers && (*execution).keeps(block, class)
    }
}
