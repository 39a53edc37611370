//! The separation of executions: in one process, whose memory is restored, or in a process for each
//! execution.

use super::Explorer;
use crate::base::{real, sys};
use crate::harness::process;
use crate::harness::request::Isolation;
use crate::harness::run::{Root, strategy};
use crate::monitor::Failure;
use crate::platform::handover::Backend;
use crate::platform::stack_pool::DEFAULT_STACK;
use crate::platform::{heap, places};

impl Explorer<'_> {
    /// Whether each child of `fork` needs its own donors. Kernel threads do not survive a fork.
    /// Fibers need only their stacks and thread-local blocks, which survive it.
    pub(super) fn has_donors_per_child(&self, engine: Root) -> bool {
        self.isolation == Isolation::Fork && engine.pool.backend() == Backend::Threads
    }

    /// Chooses the isolation. [`Isolation::Image`] needs a program whose allocations are in the
    /// runtime's heap (`platform/heap`). For another program, chooses [`Isolation::Fork`] in its
    /// place.
    pub(super) fn choose_isolation(&mut self, mut engine: Root) {
        let block = Box::new(0u8);
        let ours = heap::is_arena() && heap::contains((&raw const *block).addr());
        if !ours {
            // The program's allocator passes memory from task to task in an order that the engine
            // does not see, so accesses are not watched.
            places::unload();
        }
        if self.isolation == Isolation::Image && !ours {
            self.helpers.dismiss();
            engine.exploration.foreign_heap = true;
            self.isolation = Isolation::Fork;
        }
        engine.execution.options.has_processes = self.isolation == Isolation::Fork;
    }

    /// Runs one execution in a child, with which the engine's memory is shared. Returns a failure
    /// if the child crashed.
    pub(super) fn run_forked(&self, mut engine: Root) -> Option<Failure> {
        engine.execution.reset();
        engine.execution.fault = None;
        // SAFETY: the other threads of this process only wait.
        let child = unsafe { real::fork() };
        if child == 0 {
            if self.has_donors_per_child(engine) {
                engine.pool.grow(self.ready_donors, DEFAULT_STACK);
            }
            self.run_body(engine);
            sys::exit_now(0);
        }
        let status = process::reap(child);
        let crash = (status != 0).then(|| engine.death(status));
        engine.leftovers.scratch.empty();
        if self.has_donors_per_child(engine) {
            engine.pool.forget();
        }
        crash
    }

    /// Handles a call of `function` by a task. The function changes the process permanently, so
    /// from now on each execution gets its own process.
    pub(super) fn give_processes(&mut self, mut engine: Root, function: &'static str) {
        if self.is_helper {
            // The explorer runs this schedule itself.
            sys::exit_now(1);
        }
        strategy(engine).retry();
        engine.exploration.changes_process = Some(function);
        self.fork_each(engine);
    }

    /// From now on each execution gets its own process.
    pub(super) fn fork_each(&mut self, mut engine: Root) {
        self.helpers.dismiss();
        engine.image.restore(engine.pool.cleans());
        engine.image.discard();
        // This undoes the changes that the last execution has made to this process. A child could
        // not undo them here.
        engine.process.begin();
        self.isolation = Isolation::Fork;
        engine.execution.options.has_processes = true;
        if self.has_donors_per_child(engine) {
            engine.pool.forget();
        }
    }

    /// Grows the pool after a task found no donor. There must be no image while the pool grows.
    pub(super) fn grow_pool(&mut self, mut engine: Root, stack: usize) {
        self.ready_donors = (self.ready_donors * 2).max(engine.execution.schedule.live + 1);
        strategy(engine).retry();
        if self.has_donors_per_child(engine) {
            return;
        }
        engine.image.restore(engine.pool.cleans());
        engine.image.discard();
        engine.pool.grow(self.ready_donors, stack);
        if self.isolation == Isolation::Image {
            engine.image.take();
        }
    }
}
