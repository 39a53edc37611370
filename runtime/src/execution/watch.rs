//! What monitors are told, and how an execution ends that one of them stops.

use core::ops::ControlFlow;

use super::object::ObjectId;
use super::schedule::Step;
use super::state::{Ending, Execution};
use super::{Effect, Op, Site, perform, running};
use crate::monitor::{Allocation, DataAccess, Free, Monitor, SyncAccess, monitors};

impl Execution {
    /// The current task arrives before an operation.
    #[inline]
    pub(super) fn tell_point(&self) {
        // SAFETY: one task runs at a time, and monitors do not call the engine.
        unsafe { (*monitors()).scheduling_point(self) };
    }

    /// The current task performs an operation: whether the execution goes on.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what no monitor looks at is not made")]
    pub(super) fn tell_access(
        &mut self,
        op: Op,
        object: ObjectId,
        effect: Effect,
        site: Option<Site>,
    ) -> Step {
        let access = SyncAccess {
            op,
            object,
            effect,
            site,
            may_be_free: object != ObjectId::NONE && self.objects.take_doubt(object),
        };
        // SAFETY: as in `tell_point`.
        match unsafe { (*monitors()).sync_access(self, access) } {
            ControlFlow::Continue(()) => Step::Continue,
            ControlFlow::Break(()) => self.stop(),
        }
    }

    /// A monitor has seen enough. Where the caller cannot leave the execution, its
    /// next step does.
    #[cold]
    fn stop(&mut self) -> Step {
        self.horizon = 0;
        self.end(Ending::Stopped)
    }

    /// What an execution is that is given up.
    pub(super) fn given_up(&self) -> Ending {
        // SAFETY: as in `tell_point`.
        let ending = unsafe { (*monitors()).given_up(self) };
        ending.unwrap_or(Ending::TooLong)
    }
}

/// The task is about to access plain memory: no scheduling point. Of packages that are
/// not explored nobody looks.
#[inline(never)]
pub(crate) fn data_access(access: DataAccess) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; monitors do not call the engine, and no reference lives
    // across `perform`.
    unsafe {
        if !(*execution).is_preempted_at(access.site) {
            return;
        }
        if (*monitors()).data_access(&*execution, access).is_break() {
            perform((*execution).stop());
        }
    }
}

/// The task was given a block.
#[inline]
pub(crate) fn allocated(allocation: Allocation) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; monitors do not call the engine.
    unsafe { (*monitors()).allocated(&*execution, allocation) };
}

/// The task is about to free memory; does not return if that is an error. Whether
/// synchronization objects lie there is known of live blocks, as is their class. Whether
/// the block is kept for a choice.
#[inline]
pub(crate) fn frees(free: Free, has_objects: bool, class: usize) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    // SAFETY: as in `data_access`.
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
