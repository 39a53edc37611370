//! Past the step limit: in which turns an execution runs on, and when and as what it is given up.

use super::TaskId;
use super::state::{Ending, Execution};
use crate::engine::engine;

/// An execution that passes the step limit is given so many times as many steps to
/// end by itself: stress tests with loops of thousands of operations do.
const PATIENCE: u64 = 50;

/// As [`PATIENCE`], before any execution has ended by itself: nothing is known of
/// the test's length.
const FIRST_PATIENCE: u64 = 5_000;

/// As [`FIRST_PATIENCE`], where one task does the same again and again: some loops
/// count to a million.
const CIRCLE_PATIENCE: u64 = 1_000;

/// As [`CIRCLE_PATIENCE`], where several tasks do: hardly a loop counts so.
const ROUND_PATIENCE: u64 = 250;

/// It is also given so many times the steps of the longest that ended by itself.
const FAR_LONGER: u64 = 10;

/// A test that is only run takes turns so much shorter: it is to end soon.
const SLICES: u64 = 40;

/// What a step past the limit takes, in virtual nanoseconds: about what it takes
/// natively. A loop that goes on for a second does far more than look at the clock.
const STEP: u64 = 100;

/// What ends a test that is only run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    /// Very many steps.
    Steps,
    /// The time budget.
    Time,
}

impl Execution {
    /// At the step limit: whether the execution ends here, and as what. It first
    /// runs on without choices: a test may be long, and is then no failure.
    #[cold]
    pub(super) fn passes_limit(&mut self) -> bool {
        if self.ending == Ending::Stopped {
            return true;
        }
        if self.body_done {
            self.ending = Ending::Finished;
            return true;
        }
        self.clock += STEP;
        let is_first = !self.past_limit;
        if is_first {
            self.past_limit = true;
            self.log.trace.end();
            self.slice_end = self.steps + self.max_steps / 2;
        }
        // What confirms a failure, or replays it, takes the time that it takes. So does the
        // first execution that ends: without it the test has no verdict.
        let may_end = !self.keeps_output && (self.longest > 0 || self.only_runs.is_some());
        // SAFETY: only the flag is read, which the zygote sets.
        if may_end && unsafe { (*engine()).exploration.is_out_of_time() } {
            self.ending = Ending::TooLong;
            return true;
        }
        if !is_first && self.steps == self.max_steps + self.max_steps / 2 {
            let circles = self.log.ends_in_a_circle(self.max_steps as usize / 2);
            // Tasks that only read and do not wait are at work, each on its own.
            let is_alone = self.last_switch < self.max_steps;
            let waits = self.last_wait >= self.max_steps;
            self.circle = (circles && (is_alone || waits)).then_some(self.last_switch);
        }
        if self.only_runs == Some(Limit::Time) {
            return false;
        }
        let patience = match (self.longest, self.circle) {
            _ if self.only_runs.is_some() => FIRST_PATIENCE,
            (0, None) => FIRST_PATIENCE,
            (0, Some(switch)) if switch < self.max_steps => CIRCLE_PATIENCE,
            (0, Some(_)) => ROUND_PATIENCE,
            _ => PATIENCE,
        };
        let ordinary = self.longest.saturating_mul(FAR_LONGER);
        if self.steps < self.max_steps.saturating_mul(patience).max(ordinary) {
            return false;
        }
        self.ending = self.given_up();
        true
    }

    /// Which task runs next past the limit: of those that can for nothing, the first
    /// `free` ones, and those whose sleep is over by now, the one that ran the longest ago,
    /// as an operating system would have it. Tasks that block and wake one another, or
    /// never wait, would else keep all others from running.
    #[cold]
    pub(super) fn longest_waiting(&self, options: &[TaskId], free: usize) -> TaskId {
        let is_due = |task: TaskId| {
            let deadline = self.task(task).deadline;
            self.late.contains(task) && deadline.is_some_and(|deadline| deadline <= self.clock)
        };
        let all = options.iter().enumerate();
        let may_run = all.filter(|&(at, &task)| at < free || is_due(task));
        let ran = |&(_, &task): &(usize, &TaskId)| self.fairness.last_ran(task);
        *may_run.min_by_key(ran).expect("a task can run").1
    }

    /// Whether the current task must give way now, as an operating system would
    /// make it: natively a loop may poll for ever and count on that. Not one that
    /// goes round in a circle since before the limit: it spins, and is to be seen,
    /// unless the test is only run, as under `cargo test`, and not explored.
    #[cold]
    pub(super) fn slice_is_over(&mut self) -> bool {
        let slice = match self.only_runs {
            Some(_) => self.max_steps / SLICES,
            None => self.max_steps,
        };
        let spins = self.only_runs.is_none() && self.circle == Some(self.last_switch);
        let end = self.slice_end.max(self.last_switch + slice);
        if spins || self.steps < end || self.enabled.is_only(self.current) {
            return false;
        }
        self.slice_end = self.steps + slice;
        self.fairness
            .yielded(self.current, self.steps, &self.enabled, &self.late);
        true
    }
}
