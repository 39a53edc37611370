//! Reads of the clock by tasks: they are scheduling points if two tasks read it.
//!
//! Each read advances the clock, so two reads do not commute: a program can see their order in the
//! two times. As for calls on files ([`super::files`]), reads become scheduling points once two of
//! them conflict, and the search begins anew. Reads in `atomic` code are no scheduling points:
//! executors read the clock in nearly every step of their workers. Nor are the later reads of a
//! task with many of them, because a loop that waits for a time has thousands. The guarantee names
//! this limit.
//!
//! A read orders no other accesses: std promises no order for it.

use super::conflicts::Calls;
use super::mark::{is_inside, marked_line};
use super::running::running;
use super::scheduling_point::Arrival;
use super::state::Execution;
use super::terms::Step;
use super::{Effect, Named, Op, named};
use crate::search::ObjectId;

/// The number of reads of each task that can be scheduling points in an execution.
const MOST: u32 = 8;

impl Execution {
    /// Whether the order of the current task's next read of the clock is explored once reads
    /// conflict.
    fn explores_clock_read(&mut self) -> bool {
        if is_inside() || self.is_only_task() {
            return false;
        }
        let is_early = self.running().clock_reads < MOST;
        self.files.misses_clock_reads |= !is_early && self.files.is_point(Op::ReadClock);
        is_early
    }

    /// The object that stands for the clock as the tasks of policy `preempt` read it.
    fn read_clock_object(&mut self) -> ObjectId {
        self.object(named(Named::Clock, 0))
    }

    /// The current task arrives before a read of the clock.
    fn arrive_at_clock(&mut self) -> Step {
        if !self.files.is_point(Op::ReadClock) || !self.explores_clock_read() {
            return Step::Continue;
        }
        let object = self.read_clock_object();
        let site = marked_line();
        let arrival = self.announce(Op::ReadClock, object, None);
        if site.is_some() {
            self.running().site = site;
        }
        match arrival {
            Arrival::Inside => self.inside_step(),
            Arrival::Point | Arrival::Spin => self.decide(false),
        }
    }

    /// Reads the clock for the current task, which has arrived.
    fn read_clock_in_order(&mut self) -> u64 {
        let now = self.read_clock();
        if !self.explores_clock_read() {
            return now;
        }
        self.running().clock_reads += 1;
        let (task, object) = (self.schedule.current, self.read_clock_object());
        self.files.uses(task, object, Effect::Write, Calls::Clock);
        if self.files.is_point(Op::ReadClock) {
            self.log.trace.continue_step();
            self.log_event(Op::ReadClock, object, Effect::Write, marked_line());
        }
        now
    }
}

/// Reads the virtual clock for the running task: nanoseconds since 1970. 0 outside an execution.
pub(crate) fn read_clock() -> u64 {
    let Some(execution) = running() else { return 0 };
    execution.step(Execution::arrive_at_clock);
    execution.with(Execution::read_clock_in_order)
}
