//! The calls of the monitors, and the end of an execution that a monitor stops.

use core::ops::ControlFlow;
use core::sync::atomic::Ordering;

use super::schedule::Step;
use super::state::{Ending, Execution};
use super::{Access, Effect, Op, Site, TaskId, perform, running};
use crate::monitor::{Monitors, monitors};
use crate::platform::heap::{Allocation, Block, Free};
use crate::search::ObjectId;

/// The kind of an atomic access to its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It reads.
    Load,
    /// It writes, independent of the old value.
    Store,
    /// It reads and writes in one step.
    Exchange,
}

/// One access to a synchronization object.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "part of what a monitor is given")]
pub(crate) struct SyncAccess {
    pub(crate) op: Op,
    /// [`ObjectId::NONE`] for an operation without an object (a fence, a yield).
    pub(crate) object: ObjectId,
    /// Its effect on the object. Only the effects determine whether accesses of two tasks to one
    /// object are ordered.
    pub(crate) effect: Effect,
    /// The source line; `None` in drops and in code that is not redirected.
    pub(crate) site: Option<Site>,
    /// The object lies on the heap, and this is its first access, or the first since its block was
    /// freed. Otherwise its memory is not free.
    pub(crate) may_be_free: bool,
}

/// One access to plain memory, which the program is about to make.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "part of what a monitor is given")]
pub(crate) struct DataAccess {
    pub(crate) address: usize,
    /// In bytes; may be 0.
    pub(crate) size: usize,
    pub(crate) is_write: bool,
    /// The access creates a reference: the program may read, or write, through it from then on.
    pub(crate) is_borrow: bool,
    pub(crate) site: Site,
}

/// The hooks of an execution for the monitors. All monitors together implement it, in `monitor`,
/// so that the execution knows none of them by name. There is only one implementation: every
/// call is static, and a hook without a body costs nothing.
pub(crate) trait Watch {
    /// The state that [`Watch::pause`] puts aside.
    type Paused;

    /// The current task arrives before an operation.
    fn scheduling_point(&mut self, execution: &Execution);

    /// Whether every synchronization access must be reported. Otherwise, only accesses to objects
    /// that may be free are.
    fn wants_accesses(&self) -> bool;

    /// The current task performs an operation.
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()>;

    /// The current task was given a block of the heap.
    fn allocated(&mut self, execution: &Execution, allocation: Allocation);

    /// The current task is about to free memory, rightly or not.
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()>;

    /// The current task repeats a loop that reads the same and does not yield.
    fn spins(&mut self, execution: &Execution, read: Access) -> ControlFlow<()>;

    /// The execution is given up far beyond the step limit. Returns its ending.
    fn given_up(&mut self, execution: &Execution) -> Option<Ending>;

    /// Whether happens-before is tracked here. If not, the hooks below do nothing.
    fn is_ordered() -> bool;

    /// The current task acquires the clock that was released to `object`. If it does not exclude
    /// other tasks, they may hold the object, too.
    fn acquired(object: usize, excludes: bool);

    /// The current task releases its clock to `object`: for all tasks, or only for those that
    /// acquire the object exclusively.
    fn released(object: usize, to_all: bool, op: Op, site: Option<Site>);

    /// The current task performs an atomic operation on a counter that only such operations
    /// touch.
    fn counted(counter: usize, access: (How, Ordering), op: Op);

    /// A new task, made by `parent`; the first one by none.
    fn task_added(parent: Option<TaskId>, task: TaskId, site: Option<Site>);

    /// The current task begins, on its own stack.
    fn task_begins();

    /// The calling thread is no task any more.
    fn task_leaves();

    /// The calling thread is no task until [`Watch::resume`].
    fn pause() -> Self::Paused;

    /// See [`Watch::pause`].
    fn resume(paused: &Self::Paused);

    /// `next` runs after `task`.
    fn switched(task: TaskId, next: TaskId);

    /// `task` continues after the end of `other`.
    fn joined(task: TaskId, other: TaskId);

    /// The memory from `low` to `high` becomes the stack of another task.
    fn stack_reused(low: usize, high: usize);

    /// The current task calls opaque code, within a call that is one step.
    fn opaque_entered();

    /// The current task continues at its former place, possibly in opaque code.
    fn opaque_resumed();
}

/// The implementation of [`Watch`]. Only this line below the monitors names them.
pub(super) type Watcher = Monitors;

impl Execution {
    /// Announces to the monitors that the current task arrives before an operation.
    #[inline]
    pub(super) fn tell_point(&self) {
        // SAFETY: one task runs at a time, and monitors do not call the engine.
        unsafe { (*monitors()).scheduling_point(self) };
    }

    /// Reports an operation of the current task to the monitors. Returns whether the execution
    /// continues.
    #[inline]
    pub(super) fn tell_access(
        &mut self,
        op: Op,
        object: ObjectId,
        effect: Effect,
        site: Option<Site>,
    ) -> Step {
        let may_be_free = object != ObjectId::NONE && self.objects.take_doubt(object);
        // SAFETY: as in `tell_point`.
        if !may_be_free && !unsafe { (*monitors()).wants_accesses() } {
            return Step::Continue;
        }
        self.tell_monitors(SyncAccess {
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
    pub(super) fn tell_spin(&self) -> ControlFlow<()> {
        let Some(read) = self.tasks.running().spin.repeated() else {
            return ControlFlow::Continue(());
        };
        // SAFETY: as in `tell_point`.
        unsafe { (*monitors()).spins(self, read) }
    }

    /// Whether it is a failure that the current task runs without yielding.
    #[cold]
    pub(super) fn denies_spins(&self) -> bool {
        // SAFETY: as in `tell_point`.
        unsafe { (*monitors()).spins.denies(self.tasks.running().site) }
    }

    #[inline(never)]
    fn tell_monitors(&mut self, access: SyncAccess) -> Step {
        // SAFETY: as in `tell_point`.
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

    /// The ending of an execution that is given up.
    pub(super) fn given_up(&self) -> Ending {
        // SAFETY: as in `tell_point`.
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
