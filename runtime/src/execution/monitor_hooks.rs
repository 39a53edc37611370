//! The hooks of an execution for the monitors.

use core::ops::ControlFlow;
use core::sync::atomic::Ordering;

use super::spin::Access;
use super::state::{Ending, Execution};
use super::terms::Site;
use super::{Effect, Op, TaskId};
use crate::platform::heap::{Allocation, Free};
use crate::search::ObjectId;

/// The kind of an atomic access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// The access reads.
    Load,
    /// The access writes a value that does not depend on the old one.
    Store,
    /// The access reads and writes in one step.
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
    /// The source line; `None` in drops and in opaque code.
    pub(crate) site: Option<Site>,
    /// Whether the memory of the object may be free. It may be at the first access to an object on
    /// the heap or on a stack, and at the first access after the block of the object was freed. For
    /// an object on the stack of the test's body, it may also be at the first access after the end
    /// of the body. At other accesses, the memory counts as live.
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

impl DataAccess {
    /// An access to `bytes`: an address and a number of bytes. `kind` has two flags: whether the
    /// access writes, and whether it is a borrow.
    pub(crate) fn new(bytes: (usize, usize), kind: (bool, bool), site: Site) -> Self {
        let (is_write, is_borrow) = kind;
        Self {
            address: bytes.0,
            size: bytes.1,
            is_write,
            is_borrow,
            site,
        }
    }
}

/// The hooks of an execution for the monitors. All monitors together implement this trait, in
/// `monitor`, so that the execution knows none of them by name. There is only one implementation,
/// so every call is static, and a hook without a body costs nothing.
pub(crate) trait MonitorHooks {
    /// The state that [`MonitorHooks::pause`] puts aside.
    type Paused;

    /// The current task arrives before an operation.
    fn scheduling_point(&mut self, execution: &Execution);

    /// Whether every synchronization access must be reported. If not, only accesses to objects
    /// whose memory may be free are reported.
    fn wants_accesses(&self) -> bool;

    /// The current task performs an operation.
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()>;

    /// The current task was given a block of the heap.
    fn allocated(&mut self, execution: &Execution, allocation: Allocation);

    /// The current task is about to free memory, by a valid or an invalid call.
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()>;

    /// The current task repeats a loop that reads unchanged objects and does not yield. `waits`
    /// states whether the loop is known to wait.
    fn spins(&mut self, execution: &Execution, read: Access, waits: bool) -> ControlFlow<()>;

    /// The execution is ended far beyond the step limit. Returns its ending, if a monitor
    /// determines it.
    fn given_up(&mut self, execution: &Execution) -> Option<Ending>;

    /// Whether the monitors have missed something that they see if the execution is repeated.
    fn must_repeat(&self) -> bool;

    /// Whether happens-before is tracked in this process. If not, the hooks below do nothing.
    fn is_ordered() -> bool;

    /// The current task acquires the vector clock that was released to `object`. `excludes` states
    /// whether the task now holds the object exclusively.
    fn acquired(object: usize, excludes: bool);

    /// The current task releases its vector clock to `object`. If `to_all` is false, only tasks
    /// that acquire the object exclusively acquire this clock.
    fn released(object: usize, to_all: bool, op: Op, site: Option<Site>);

    /// The current task performs an atomic operation on a counter that only such operations
    /// touch.
    fn counted(counter: usize, access: (How, Ordering), op: Op);

    /// `task` is a new task, spawned by `parent`. The first task has no `parent`. `stack` has the
    /// bounds of the stack of `task`.
    fn task_added(parent: Option<TaskId>, task: TaskId, site: Option<Site>, stack: (usize, usize));

    /// The current task begins, on its own stack.
    fn task_begins();

    /// The calling thread is no task any more.
    fn task_leaves();

    /// The calling thread is no task until [`MonitorHooks::resume`].
    fn pause() -> Self::Paused;

    /// See [`MonitorHooks::pause`].
    fn resume(paused: &Self::Paused);

    /// Time passes, because every task waits.
    fn time_passes();

    /// `next` runs after `task`.
    fn switched(task: TaskId, next: TaskId);

    /// `task` continues after the end of `other`.
    fn joined(task: TaskId, other: TaskId);

    /// `task` ends, and the frames on its stack with it. The stack lies from `low` to `high`.
    fn stack_ends(task: TaskId, low: usize, high: usize);

    /// The memory from `low` to `high` becomes the stack of another task.
    fn stack_reused(low: usize, high: usize);

    /// The current task calls opaque code, within a call that is one step.
    fn opaque_entered();

    /// The current task continues after other tasks have run, possibly in opaque code.
    fn opaque_resumed();
}
