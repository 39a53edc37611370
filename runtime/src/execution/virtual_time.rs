//! Virtual time: the ends of sleeps and timeouts, and their accesses in the trace.
//! `scheduler.rs` decides when a wait times out.
//!
//! To a search the clock is an object. Only a deadline that passes writes to it; a task that reads
//! the time, or begins to wait with a deadline, reads it. [`super::clock_read`] handles the order
//! of the reads. A timeout also touches the object at which its task waited, and so does the
//! wake-up of a task that could have timed out before: the timeout races with this wake-up.

use super::event::Early;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::options::Timers;
use super::state::Execution;
use super::task::{State, Wait, token_object};
use super::terms::Wake;
use super::{Effect, Note, Op, TaskId};
use crate::search::ObjectId;

/// The virtual nanoseconds from a deadline to the end of its wait: the default timer slack of the
/// kernel (prctl(2), `PR_SET_TIMERSLACK`). Natively, waits end with this delay. So a test may start
/// to measure a wait shortly after the start of the wait, and still measure its full length.
const SLACK: u64 = 50_000;

/// The address of the clock in the side table. No other object lies there.
const CLOCK: usize = 32;

/// The virtual nanoseconds by which a read of the clock, or a change of a file, advances it.
const READ: u64 = 1_000;

/// As [`READ`], if the tasks repeat a cycle of events past the step limit. A loop with a time limit
/// then ends soon.
const READ_IN_CYCLE: u64 = 100_000;

impl Execution {
    /// Records that the running step reads or changes the clock.
    pub(crate) fn touch_clock(&mut self, effect: Effect) {
        if self.log.trace.is_wanted {
            let clock = self.object(CLOCK);
            self.log.trace.access(clock, effect, effect);
        }
    }

    /// The virtual time, in nanoseconds, that a task reads. Each read advances the clock a little,
    /// so that a loop that waits for a point in time ends.
    pub(super) fn read_clock(&mut self) -> u64 {
        self.budget.last_clock_read = self.budget.steps;
        self.clock += match self.budget.cycle {
            None => READ,
            Some(_) => READ_IN_CYCLE,
        };
        self.touch_clock(Effect::Read);
        self.clock
    }

    /// The virtual time, in nanoseconds, at which a task changes a file. Each change advances the
    /// clock a little, so that later changes have later times.
    pub(crate) fn date_change(&mut self) -> u64 {
        self.clock += READ;
        self.touch_clock(Effect::Read);
        self.clock
    }

    /// Records that the current task begins to wait with a deadline.
    pub(super) fn begin_timed(&mut self, wait: Wait) {
        self.touch_clock(Effect::Read);
        let is_traced = matches!(wait, Wait::Time | Wait::Object(_) | Wait::Token);
        self.log.trace.is_irregular |= !is_traced;
    }

    /// The object at which `task` waits with a deadline. [`ObjectId::NONE`] if it waits at none,
    /// as in a sleep.
    pub(super) fn timed_object(&self, task: TaskId) -> ObjectId {
        match self.task(task).state {
            State::Blocked(Wait::Object(object)) => object,
            State::Blocked(Wait::Token) => {
                let token = self.objects.find(token_object(task));
                token.unwrap_or(ObjectId::NONE)
            }
            _ => ObjectId::NONE,
        }
    }

    /// Records in the trace that the running step of `task` continues after a wait at `object`.
    /// The wait could have timed out before, or it timed out together with the wait of another
    /// task.
    #[cold]
    pub(super) fn trace_timed(&mut self, task: TaskId, object: ObjectId) {
        self.log.trace.timed();
        if object != ObjectId::NONE {
            self.log.trace.access(object, Effect::Write, Effect::Write);
        }
        if self.task(task).wake == Wake::TimedOut {
            self.touch_clock(Effect::Read);
        }
    }

    /// Advances time to the deadline of `task`. This task times out, and so do all tasks whose
    /// deadline is not later. `is_early` states whether other tasks could have run.
    pub(super) fn fire_timers(&mut self, task: TaskId, is_early: bool) {
        let deadline = self.task(task).deadline.unwrap_or(self.clock);
        let due = self.clock.max(deadline);
        self.clock = self.clock.max(deadline.saturating_add(SLACK));
        self.log.trace.timed();
        self.touch_clock(Effect::Write);
        let object = self.timed_object(task);
        if object != ObjectId::NONE {
            self.log.trace.access(object, Effect::Write, Effect::Write);
        }
        if self.options.timers == Timers::Last {
            self.log.trace.comes_last();
        }
        let step = self.log.trace.step();
        self.recording.early += u32::from(is_early);
        if !is_early && Hooks::is_ordered() {
            Hooks::time_passes();
        }
        let reports = is_early && self.log.values.is_wanted;
        for id in (0..self.schedule.live as u32).map(TaskId) {
            if self.schedule.late.contains(id) && self.task(id).deadline <= Some(due) {
                if reports {
                    self.report_early(id);
                }
                self.wake(id, Wake::TimedOut);
                if id == task {
                    self.task_mut(id).timed = None;
                } else {
                    self.task_mut(id).waker = step;
                }
                if is_early {
                    self.note_early(id);
                }
            }
        }
    }

    /// Keeps the details for a report on `task`, which times out while other tasks could run.
    #[cold]
    fn report_early(&mut self, task: TaskId) {
        let object = self.timed_object(task);
        let waits = self.task(task);
        // The first candidate is the task that would run if no timeout were early.
        let other = self.schedule.candidates.first().copied().unwrap_or(task);
        let pending = self.task(other);
        let early = Early {
            task,
            op: waits.op,
            object,
            site: waits.site,
            length: waits
                .deadline
                .unwrap_or(0)
                .saturating_sub(waits.waits_since),
            event: self.log.events.len() as u32,
            other: (other, pending.op, pending.site),
            other_waits: self.schedule.late.contains(other),
        };
        self.recording.early_waits.push(early);
    }

    /// Notes that `task`, which timed out, could have waited longer.
    #[cold]
    fn note_early(&mut self, task: TaskId) {
        let note = &mut self.task_mut(task).note;
        if *note == Note::TIMED_OUT {
            *note = Note::TIMED_OUT_EARLY;
        } else if self.log.values.is_wanted {
            // The event of a sleep is its beginning. The search for it takes time.
            let mut events = self.log.events.iter_mut().rev();
            let last = events.find(|event| event.task == task);
            if let Some(sleep) = last.filter(|event| event.op == Op::Sleep) {
                sleep.note = Note::ENDED_EARLY;
            }
        }
    }
}
