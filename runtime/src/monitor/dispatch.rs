//! The implementation of [`MonitorHooks`]: through it, an execution calls the monitors.

use core::ops::ControlFlow;
use core::sync::atomic::Ordering;

use super::race::{self, Paused};
use super::{Monitor, Monitors};
use crate::execution::{
    Access, Ending, Execution, How, MonitorHooks, Op, Site, SyncAccess, TaskId,
};
use crate::platform::heap::{Allocation, Free};

impl MonitorHooks for Monitors {
    type Paused = Paused;

    #[inline]
    fn scheduling_point(&mut self, execution: &Execution) {
        let task = execution.schedule.current;
        self.races.arrive(task, execution.task(task).op);
        Monitor::scheduling_point(self, execution);
    }

    #[inline]
    fn wants_accesses(&self) -> bool {
        Monitor::wants_accesses(self)
    }

    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        Monitor::sync_access(self, execution, access)
    }

    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        Monitor::allocated(self, execution, allocation);
    }

    #[inline]
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
        Monitor::frees(self, execution, free)
    }

    fn spins(&mut self, execution: &Execution, read: Access, waits: bool) -> ControlFlow<()> {
        Monitor::spins(self, execution, read, waits)
    }

    fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
        Monitor::given_up(self, execution)
    }

    fn must_repeat(&self) -> bool {
        self.races.misses_accesses()
    }

    #[inline]
    fn is_ordered() -> bool {
        race::is_watched()
    }

    #[inline]
    fn acquired(object: usize, excludes: bool) {
        race::acquire_for(object, excludes);
    }

    #[inline]
    fn released(object: usize, to_all: bool, op: Op, site: Option<Site>) {
        race::release_to(object, to_all, op, site);
    }

    #[inline]
    fn counted(counter: usize, access: (How, Ordering), op: Op) {
        race::count(counter, access, op);
    }

    #[inline]
    fn task_added(parent: Option<TaskId>, task: TaskId, site: Option<Site>, stack: (usize, usize)) {
        race::added(parent, task, site, stack);
    }

    #[inline]
    fn task_begins() {
        race::enter();
    }

    #[inline]
    fn task_leaves() {
        race::leave();
    }

    #[inline]
    fn pause() -> Paused {
        race::pause()
    }

    #[inline]
    fn resume(paused: &Paused) {
        race::resume(paused);
    }

    fn time_passes() {
        race::time_passes();
    }

    #[inline]
    fn switched(task: TaskId, next: TaskId) {
        race::switched(task, next);
    }

    #[inline]
    fn joined(task: TaskId, other: TaskId) {
        race::joined(task, other);
    }

    fn stack_ends(task: TaskId, low: usize, high: usize) {
        race::stack_ends(task, low, high);
    }

    #[inline]
    fn stack_reused(low: usize, high: usize) {
        race::forget(low, high);
    }

    #[inline]
    fn opaque_entered() {
        race::enter_unseen();
    }

    #[inline]
    fn opaque_resumed() {
        race::resume_unseen();
    }
}
