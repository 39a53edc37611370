//! The engine's calls of the monitors, and the end of an execution that a monitor stops.

use core::ops::ControlFlow;

use super::monitor_hooks::{MonitorHooks as _, SyncAccess};
use super::state::{Ending, Execution};
use super::terms::{Site, Step};
use super::{Effect, Op};
use crate::monitor::{Monitors, monitors};
use crate::platform::heap::{Allocation, Free};
use crate::search::ObjectId;

/// The implementation of [`super::MonitorHooks`]. In the modules below the monitors, only this
/// line names them.
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
        let may_be_free = object != ObjectId::NONE && self.objects.take_maybe_freed(object);
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

    /// Reports to the monitors that the current task repeats a loop without a yield. `waits` states
    /// whether the loop is known to wait. Returns whether the execution continues.
    #[cold]
    pub(super) fn report_spin(&self, waits: bool) -> ControlFlow<()> {
        let Some(read) = self.schedule.tasks.running().spin.repeated() else {
            return ControlFlow::Continue(());
        };
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).spins(self, read, waits) }
    }

    /// Whether a spin without a yield is a failure for the current task.
    #[cold]
    pub(super) fn denies_spins(&self) -> bool {
        // SAFETY: as in `report_point`.
        unsafe {
            (*monitors())
                .spins
                .denies(self.schedule.tasks.running().site)
        }
    }

    #[inline(never)]
    fn call_monitors(&mut self, access: SyncAccess) -> Step {
        // SAFETY: as in `report_point`.
        match unsafe { (*monitors()).sync_access(self, access) } {
            ControlFlow::Continue(()) => Step::Continue,
            ControlFlow::Break(()) => self.stop(),
        }
    }

    /// Reports to the monitors that the current task was given a block of the heap.
    #[inline]
    pub(super) fn report_allocation(&self, allocation: Allocation) {
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).allocated(self, allocation) };
    }

    /// Reports to the monitors that the current task is about to free memory. Returns whether the
    /// execution continues.
    #[inline]
    pub(super) fn report_free(&mut self, free: Free) -> Step {
        // SAFETY: as in `report_point`.
        match unsafe { (*monitors()).frees(self, free) } {
            ControlFlow::Continue(()) => Step::Continue,
            ControlFlow::Break(()) => self.stop(),
        }
    }

    /// Stops the execution for a monitor. If the caller cannot perform the returned step, the next
    /// step of the task ends the execution.
    #[cold]
    pub(crate) fn stop(&mut self) -> Step {
        self.budget.horizon = 0;
        self.end(Ending::Stopped)
    }

    /// Whether the execution must be repeated, because a monitor has missed something.
    #[cold]
    pub(super) fn must_repeat() -> bool {
        // SAFETY: as in `report_point`.
        unsafe { (*monitors()).must_repeat() }
    }

    /// The ending of an execution that is ended far beyond the step limit.
    pub(super) fn given_up(&self) -> Ending {
        // SAFETY: as in `report_point`.
        let ending = unsafe { (*monitors()).given_up(self) };
        ending.unwrap_or(Ending::TooLong)
    }
}
