//! Awaits: if an iteration of a loop changed nothing, the engine does not repeat it until an
//! object that it read has changed.
//!
//! Suppose that a task yields in exactly the state of its last yield (registers, stack,
//! thread-locals, statics and heap), that it only read objects in between, and that these objects
//! have not changed. Then the task would repeat this iteration forever. Its further iterations are
//! left out, as in spin-assume, which transforms the program (Kokologiannakis and others, CAV'21
//! and CAV'23): the task blocks until another task writes to an object that it read. Loops that
//! wait therefore end, under any search, and have finitely many schedules.

use super::state::Execution;
use super::task::{State, Wait};
use super::terms::{Step, Wake};
use super::{Effect, TaskId};
use crate::base::fingerprint::mix;
use crate::platform::image::image;
use crate::platform::stack_pool::pool;
use crate::search::{ObjectId, TraceStep};

/// The value for a state of a task whose memory may contain remains of earlier executions.
pub(super) const UNCLEAN: u64 = u64::MAX;

impl Execution {
    /// Whether the current task, which yields in this `state`, would only repeat its last
    /// iteration.
    pub(super) fn repeats_its_iteration(&mut self, state: u64) -> bool {
        let task = self.schedule.tasks.running_mut();
        let is_closed =
            self.awaits && self.descriptors.children.is_empty() && task.spin.only_read();
        if !task.spin.ends_iteration(state) || !is_closed {
            return false;
        }
        let mut unchanged = true;
        self.log.trace.awaits();
        for (object, version) in task.spin.in_iteration() {
            unchanged &= self.objects.get(object).version == version;
            // Whether the task continues depends on this object.
            self.log.trace.access(object, Effect::Read, Effect::Read);
        }
        unchanged
    }

    /// Blocks the current task until an object that it read in this iteration changes.
    pub(super) fn await_change(&mut self) -> Step {
        for (object, _) in self.schedule.tasks.running().spin.in_iteration() {
            self.objects.get_mut(object).watchers += 1;
        }
        self.running().watches = true;
        self.block(Wait::Change, None);
        self.decide(true)
    }

    /// Ends the wait of the current task for a change. The trace records that the task reads all
    /// objects of its iteration again.
    #[cold]
    pub(super) fn look_again(&mut self) {
        let task = self.schedule.tasks.running_mut();
        for (object, _) in task.spin.in_iteration() {
            self.objects.get_mut(object).watchers -= 1;
            self.log.trace.access(object, Effect::Read, Effect::Read);
        }
        task.watches = false;
        task.retries = false;
        task.spin.progress_after_wait();
    }

    /// Begins the next iteration of the current task, which yielded.
    pub(super) fn begin_iteration(&mut self) {
        if self.running().watches {
            self.look_again();
        }
        let overstays = self.overstays();
        self.running().spin.begin_iteration(overstays);
    }

    /// Wakes the tasks that watch `object`, to which the current task has written.
    #[cold]
    pub(super) fn wake_watchers(&mut self, object: ObjectId) {
        for id in (0..self.schedule.live as u32).map(TaskId) {
            let task = self.task(id);
            if !task.watches || task.spin.in_iteration().all(|(read, _)| read != object) {
                continue;
            }
            if task.state == State::Blocked(Wait::Change) {
                self.wake(id, Wake::Notified);
                self.task_mut(id).retries = true;
            } else {
                // The task would have continued without its earlier waker, too.
                self.task_mut(id).waker = TraceStep::NONE;
            }
        }
    }

    /// From now on, no task awaits a change. The tasks that await one repeat their iterations, as
    /// they would natively. Called only if no task is enabled. Returns whether a task awaits a
    /// change.
    #[cold]
    pub(super) fn stops_awaiting(&mut self) -> bool {
        self.awaits = false;
        let mut found = false;
        for id in (0..self.schedule.live as u32).map(TaskId) {
            if self.task(id).state == State::Blocked(Wait::Change) {
                self.wake(id, Wake::Notified);
                found = true;
            }
        }
        self.log.trace.is_irregular |= found;
        found
    }

    /// Whether the state of the current task is computed at the end of the task's iteration. Past
    /// the step limit, the state is computed only for some iterations: nothing is explored there,
    /// and the number of waiting iterations may be very large. `spins` states that the task spins,
    /// and the program has no yield here. The state then decides whether the task yields, even if
    /// no task may await a change.
    pub(super) fn looks_at_state(&self, spins: bool) -> bool {
        let is_time = !self.budget.past_limit
            || (self.budget.steps / self.options.max_steps).is_power_of_two();
        let spin = &self.schedule.tasks.running().spin;
        is_time
            && if spins {
                spin.may_spin_on()
            } else {
                self.awaits && spin.may_repeat()
            }
    }

    /// A hash of the state of the current task, whose registers and stack lie at and above
    /// `stack_pointer`. Returns 0 if the state is not computed or is too large. `spins` is as in
    /// [`Self::looks_at_state`].
    ///
    /// The state contains memory that the program has not initialized: frames have gaps, and so
    /// have blocks of the heap. If this memory may contain remains of earlier executions, the
    /// result is [`UNCLEAN`], because these remains must not decide whether two iterations are the
    /// same.
    pub(super) fn state_above(&self, stack_pointer: usize, spins: bool) -> u64 {
        if !self.looks_at_state(spins) {
            return 0;
        }
        let task = self.schedule.tasks.running();
        // SAFETY: the calling task is the only one that runs.
        let (pool, image) = unsafe { (&mut *pool(), &*image()) };
        let Ok(locals) = pool.fingerprint(task.donor, stack_pointer) else {
            return UNCLEAN;
        };
        let state = locals.zip(image.fingerprint());
        state.map_or(0, |(locals, memory)| {
            mix(locals, memory).clamp(1, UNCLEAN - 1)
        })
    }
}
