//! Awaits: a turn of a loop that changed nothing is not repeated until something
//! that it read has changed.
//!
//! A task that yields in exactly the state of its last yield - registers, stack,
//! thread-locals, statics and heap - and that did nothing in between but read
//! what is still as it was, would do the same for ever. Its further turns are
//! left out, as spin-assume does by transformation of the program (Kokologiannakis
//! and others, CAV'21 and CAV'23): it blocks until another task writes to what it
//! read. So loops that wait end, under any search, and have finitely many schedules.

use super::object::ObjectId;
use super::schedule::Step;
use super::state::Execution;
use super::task::{State, Wait};
use super::trace::TraceStep;
use super::{Effect, TaskId, Wake};
use crate::base::fingerprint::mix;
use crate::engine::engine;
use crate::platform::context;

/// The state of a task that may contain what earlier executions left in memory.
pub(super) const UNCLEAN: u64 = u64::MAX;

impl Execution {
    /// Whether the current task, which yields in this `state`, would only do the
    /// same again.
    pub(super) fn repeats_its_turn(&mut self, state: u64) -> bool {
        let task = self.tasks.running_mut();
        let is_closed = self.awaits && self.descriptors.children.is_empty();
        if !task.spin.ends_turn(state) || !is_closed {
            return false;
        }
        let mut unchanged = true;
        self.log.trace.awaits();
        for (object, version) in task.spin.in_turn() {
            unchanged &= self.objects.get(object).version == version;
            // Whether it goes on depends on it.
            self.log.trace.access(object, Effect::Read, Effect::Read);
        }
        unchanged
    }

    /// Blocks the current task until something that it read in this turn changes.
    pub(super) fn await_change(&mut self) -> Step {
        for (object, _) in self.tasks.running().spin.in_turn() {
            self.objects.get_mut(object).watchers += 1;
        }
        self.running().watches = true;
        self.block(Wait::Change, None);
        self.decide(true)
    }

    /// The current task, which had to wait for a change, looks at everything again.
    #[cold]
    pub(super) fn look_again(&mut self) {
        let task = self.tasks.running_mut();
        for (object, _) in task.spin.in_turn() {
            self.objects.get_mut(object).watchers -= 1;
            self.log.trace.access(object, Effect::Read, Effect::Read);
        }
        task.watches = false;
        task.retries = false;
        task.spin.progress();
    }

    /// The current task, which yielded, runs again.
    pub(super) fn begin_turn(&mut self) {
        if self.running().watches {
            self.look_again();
        }
        self.running().spin.begin_turn();
    }

    /// `object`, which tasks watch, was written to by the current one.
    #[cold]
    pub(super) fn wake_watchers(&mut self, object: ObjectId) {
        for id in (0..self.live as u32).map(TaskId) {
            let task = self.task(id);
            if !task.watches || task.spin.in_turn().all(|(read, _)| read != object) {
                continue;
            }
            if task.state == State::Blocked(Wait::Change) {
                self.wake(id, Wake::Notified);
                self.task_mut(id).retries = true;
            } else {
                // It does not need the one that woke it.
                self.task_mut(id).waker = TraceStep::NONE;
            }
        }
    }

    /// No task can go on: lets those that await a change repeat their turns from now
    /// on, as they would natively; whether there is one.
    #[cold]
    pub(super) fn stops_awaiting(&mut self) -> bool {
        self.awaits = false;
        let mut found = false;
        for id in (0..self.live as u32).map(TaskId) {
            if self.task(id).state == State::Blocked(Wait::Change) {
                self.wake(id, Wake::Notified);
                found = true;
            }
        }
        self.log.trace.is_irregular |= found;
        found
    }

    /// Whether the state of the current task, whose turn ends, is looked at. Past the
    /// limit nothing is explored and very much may be waited for: there now and then.
    pub(super) fn looks_at_state(&self) -> bool {
        let is_time = !self.past_limit || (self.steps / self.max_steps).is_power_of_two();
        self.awaits && is_time && self.tasks.running().spin.may_repeat()
    }

    /// The state of the current task, whose registers and stack lie at and above
    /// `stack_pointer`, if it is looked at; 0 if not, or if it is too large.
    ///
    /// It contains memory that the program has not initialized: frames have gaps, and so
    /// have blocks of the heap. What executions before this one left there must not decide
    /// whether two turns are the same: [`UNCLEAN`] if it could.
    pub(super) fn state_above(&self, stack_pointer: usize) -> u64 {
        if !self.looks_at_state() {
            return 0;
        }
        let task = self.tasks.running();
        // SAFETY: both lie beside the execution in the engine's root, and the calling
        // task is the only one that runs.
        let (pool, image) = unsafe { (&mut (*engine()).pool, &(*engine()).image) };
        let Ok(locals) = pool.fingerprint(task.donor, stack_pointer) else {
            return UNCLEAN;
        };
        let state = locals.zip(image.fingerprint());
        state.map_or(0, |(locals, memory)| {
            mix(locals, memory).clamp(1, UNCLEAN - 1)
        })
    }

    /// [`Self::state_above`] the caller's frame, whose gaps may make it another one each
    /// time: what is the same is seen less often than by [`super::yield_now`].
    #[cold]
    pub(super) fn state_here(&self) -> u64 {
        extern "C" fn above(execution: &Execution, stack_pointer: usize) -> u64 {
            execution.state_above(stack_pointer)
        }
        context::with_registers(self, above)
    }
}
