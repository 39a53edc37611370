//! Reads of the clock by tasks. They are scheduling points if the reads of two tasks conflict.
//!
//! Each read advances the clock, so two reads do not commute: a program can see their order in the
//! two times. As for calls on files ([`super::files`]), reads become scheduling points once two of
//! them conflict, and the search begins anew. Reads in `atomic` code are no scheduling points:
//! executors read the clock in nearly every step of their workers. Nor are the later reads of a
//! task that reads the clock often, because a loop that waits for a point in time makes thousands
//! of reads. The guarantee of the report names this limit.
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

/// The maximum number of reads of one task, in one execution, that are scheduling points at which
/// another task could run.
const MOST: u32 = 8;
/// The maximum number of reads of one task, in one execution, that have events of their own
/// although no other task was enabled.
const MOST_ALONE: u32 = 64;

/// The part that the order of a read has in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The order is not explored.
    Ignored,
    /// The search looks for reads that conflict.
    Watched,
    /// No other task is enabled, and the task has read the clock often. The read is an access
    /// within its step.
    Fixed,
    /// The read is a scheduling point.
    Explored,
}

impl Execution {
    /// The order of the current task's next read of the clock. Counts the read.
    fn order_of_clock_read(&mut self) -> Order {
        if is_inside() || self.is_only_task() {
            return Order::Ignored;
        }
        if !self.files.is_point(Op::ReadClock) {
            return Order::Watched;
        }
        let is_alone = self.schedule.enabled.is_only(self.schedule.current);
        let task = self.running();
        if is_alone {
            if task.lone_clock_reads == MOST_ALONE {
                return Order::Fixed;
            }
            task.lone_clock_reads += 1;
            return Order::Explored;
        }
        if task.clock_reads == MOST {
            self.files.misses_clock_reads = true;
            return Order::Ignored;
        }
        task.clock_reads += 1;
        Order::Explored
    }

    /// The object that stands for the clock as the tasks read it in code of policy `preempt`.
    fn read_clock_object(&mut self) -> ObjectId {
        self.object(named(Named::Clock, 0))
    }

    /// The current task arrives before a read of the clock that is a scheduling point.
    fn arrive_at_clock(&mut self) -> Step {
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

    /// Reads the clock for the current task.
    fn read_clock_in_order(&mut self, order: Order) -> u64 {
        let now = self.read_clock();
        match order {
            Order::Ignored => {}
            Order::Watched => {
                let (task, object) = (self.schedule.current, self.read_clock_object());
                self.files.uses(task, object, Effect::Write, Calls::Clock);
            }
            Order::Fixed => {
                let object = self.read_clock_object();
                self.log.trace.access(object, Effect::Write, Effect::Write);
            }
            Order::Explored => {
                let object = self.read_clock_object();
                self.log.trace.continue_step();
                self.log_event(Op::ReadClock, object, Effect::Write, marked_line());
            }
        }
        now
    }
}

/// Reads the virtual clock for the running task: nanoseconds since 1970. 0 outside an execution.
pub(crate) fn read_clock() -> u64 {
    let Some(execution) = running() else { return 0 };
    let order = execution.with(Execution::order_of_clock_read);
    if order == Order::Explored {
        execution.step(Execution::arrive_at_clock);
    }
    execution.with(|it| it.read_clock_in_order(order))
}
