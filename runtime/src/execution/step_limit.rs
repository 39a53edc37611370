//! Execution past the step limit: the order of the tasks there, and when and how the execution is
//! ended.
//!
//! Tasks that yield give way there too (`execution/fairness.rs`). `execution/cycle.rs` detects that
//! the tasks repeat the same events. `monitor/livelock.rs` judges whether an execution that was ended
//! is a failure. The step limit is `max-steps`: see `config/exploration.rs` of the tool.

use super::TaskId;
use super::budget::Budget;
use super::options::Limit;
use super::state::{Ending, Execution};
use crate::base::rng::Rng;

/// An execution that passes the step limit may take this many times the limit to end by itself.
/// Stress tests with loops of thousands of operations need such numbers of steps.
const PATIENCE: u64 = 50;

/// As [`PATIENCE`], before any execution has ended by itself: the length of the test is not known
/// then.
const FIRST_PATIENCE: u64 = 10_000;

/// As [`FIRST_PATIENCE`], if one task keeps repeating the same steps. Such a task may still end,
/// because some loops count to a million. This value is for one task, and is multiplied by the
/// number of live tasks: each of the other tasks may have run such a loop before.
const CYCLE_PATIENCE: u64 = 1_000;

/// As [`CYCLE_PATIENCE`], if several tasks repeat the same steps: hardly any loop counts in this
/// way.
const ROUND_PATIENCE: u64 = 250;

/// The execution may also take this many times the steps of the longest one that ended by itself.
const FAR_LONGER: u64 = 10;

/// As [`PATIENCE`], if this schedule, or the one that is being minimised, is known to have no end.
const REPEATED_PATIENCE: u64 = 4;

/// As [`FAR_LONGER`], in the case of [`REPEATED_PATIENCE`].
const LONGER: u64 = 2;

/// The number of time slices in the step limit, on average. If spins are failures, no slice is
/// shorter than the limit.
const SLICES: u64 = 40;

/// As [`PATIENCE`], if tasks keep reading the clock: a loop with a time limit ends by itself.
const CLOCK_PATIENCE: u64 = 500;

/// The virtual time past the limit, in nanoseconds, for which tasks that keep reading the clock may
/// continue. Hardly any test has a longer time limit.
const LONGEST_TIME_LIMIT: u64 = 100_000_000_000;

/// The duration of a step past the limit, in virtual nanoseconds: about the duration of a native
/// step. So a loop that runs for a second of the clock ends, even if it rarely reads the clock.
const STEP: u64 = 100;

impl Execution {
    /// Called at each step from the step limit on. Returns whether the execution ends here, and
    /// sets its ending. The execution first continues without choices, because a long test is no
    /// failure.
    #[cold]
    pub(super) fn passes_limit(&mut self) -> bool {
        if self.ending == Ending::Stopped {
            return true;
        }
        if self.unmet_assumption.is_some() {
            // The other tasks may wait for the task that does not continue.
            self.budget.past_limit = true;
            self.ending = Ending::Assumption;
            return true;
        }
        if self.body_done {
            self.ending = Ending::Finished;
            return true;
        }
        self.clock += STEP;
        let is_first = !self.budget.past_limit;
        if is_first {
            self.budget.past_limit = true;
            self.budget.clock_at_limit = self.clock;
            self.log.trace.end();
            self.budget.slice_end = self.budget.steps + self.options.max_steps / 2;
            // A replay is not repeated, because it is shown as it happens.
            let is_repeated = !self.options.keeps_output && Self::must_repeat();
            if is_repeated || self.options.ends_at_limit {
                self.ending = Ending::TooLong;
                return true;
            }
        }
        // A confirmation or a replay of a failure has no time limit. Nor has a search before its
        // first execution that ends by itself, because the test has no verdict until then.
        let may_end = !self.options.keeps_output
            && (self.budget.longest > 0 || self.options.only_runs.is_some());
        if may_end && self.is_out_of_time() {
            self.ending = Ending::TooLong;
            return true;
        }
        if !is_first && self.budget.steps == self.options.max_steps + self.options.max_steps / 2 {
            let repeats = self
                .log
                .ends_in_a_cycle(self.options.max_steps as usize / 2);
            // Tasks that only read and do not wait are computing, independently of each other.
            let is_alone = self.budget.last_switch < self.options.max_steps;
            let waits = self.budget.last_wait >= self.options.max_steps;
            self.budget.cycle = (repeats && (is_alone || waits)).then_some(self.budget.last_switch);
        }
        if self.options.only_runs == Some(Limit::Time) {
            return false;
        }
        let patience = match (self.budget.longest, self.budget.cycle) {
            _ if self.budget.is_supposed_endless => REPEATED_PATIENCE,
            _ if self.options.only_runs.is_some() => FIRST_PATIENCE,
            (0, None) => FIRST_PATIENCE,
            (0, Some(switch)) if switch < self.options.max_steps => {
                FIRST_PATIENCE.min(CYCLE_PATIENCE * self.schedule.live as u64)
            }
            (0, Some(_)) => ROUND_PATIENCE,
            _ => PATIENCE,
        };
        let longer = if self.budget.is_supposed_endless {
            LONGER
        } else {
            FAR_LONGER
        };
        let ordinary = self.budget.longest.saturating_mul(longer);
        let limit = |patience: u64| {
            let ordinary_limit = self.options.max_steps.saturating_mul(patience);
            ordinary_limit.max(ordinary)
        };
        if self.budget.steps < limit(patience) {
            return false;
        }
        if self.may_wait_for_a_time() {
            let patience = match self.budget.longest {
                0 => FIRST_PATIENCE,
                _ => CLOCK_PATIENCE,
            };
            if self.budget.steps < limit(patience) {
                return false;
            }
        }
        self.ending = self.given_up();
        true
    }

    /// Whether the search may have missed a choice because the execution passed the step limit. One
    /// task alone has one schedule, however many steps it takes.
    pub(crate) fn misses_choices(&self) -> bool {
        let may_be_several = self.ending != Ending::Finished || !self.is_only_task();
        self.budget.past_limit && (may_be_several || self.budget.omits_outcome)
    }

    /// Whether tasks past the limit may wait for a point in time: they keep reading the clock.
    fn may_wait_for_a_time(&self) -> bool {
        let budget = &self.budget;
        !budget.is_supposed_endless
            && budget.last_clock_read >= budget.steps / 2
            && self.clock - budget.clock_at_limit < LONGEST_TIME_LIMIT
    }

    /// Whether an execution that is ended far beyond the step limit may be long instead of
    /// endless: in its second half a task was created, or a task has waited throughout for a
    /// deadline that has not passed yet, or tasks may wait for a point in time.
    pub(crate) fn may_be_long(&self) -> bool {
        let half = self.budget.steps / 2;
        let middle = self.clock.saturating_sub(half * STEP);
        let is_waited_for = |task: TaskId| {
            self.schedule.late.contains(task) && self.task(task).waits_since <= middle
        };
        self.budget.last_spawn >= half
            || self.may_wait_for_a_time()
            || (0..self.schedule.live as u32)
                .map(TaskId)
                .any(is_waited_for)
    }

    /// The next task past the limit. The candidates are the first `free` tasks of `options`, which
    /// can run at no cost, and the tasks whose sleep is over by now. The candidate that has not run
    /// for the longest time runs next, as under an operating system. Without this rule, tasks that
    /// never wait, or that block and wake one another, could keep all other tasks from running.
    #[cold]
    pub(super) fn longest_waiting(&self, options: &[TaskId], free: usize) -> TaskId {
        let is_due = |task: TaskId| {
            let deadline = self.task(task).deadline;
            self.schedule.late.contains(task)
                && deadline.is_some_and(|deadline| deadline <= self.clock)
        };
        let all = options.iter().enumerate();
        let may_run = all.filter(|&(at, &task)| at < free || is_due(task));
        let ran = |&(_, &task): &(usize, &TaskId)| self.schedule.fairness.last_ran(task);
        *may_run.min_by_key(ran).expect("a task can run").1
    }

    /// Whether the time slice of the current task is over, past the step limit. Then the task
    /// yields, as an operating system preempts a loop that polls forever. If the test is explored
    /// and spins are failures, a task that repeats a cycle of events without a switch keeps
    /// running, because its spin must be reported.
    #[cold]
    pub(super) fn slice_is_over(&mut self) -> bool {
        let is_strict = self.options.only_runs.is_none() && self.denies_spins();
        let spins = is_strict && self.budget.cycle == Some(self.budget.last_switch);
        let Budget {
            steps,
            last_switch,
            slice_end,
            ..
        } = self.budget;
        if spins
            || steps < slice_end
            || steps < last_switch + self.slice(last_switch, is_strict)
            || self.schedule.enabled.is_only(self.schedule.current)
        {
            return false;
        }
        self.budget.slice_end = steps + self.slice(steps, is_strict);
        self.yield_fairly();
        true
    }

    /// The length of the time slice that begins at the step `begin`. The lengths differ. With equal
    /// lengths, a loop whose number of events divides the length would be preempted before the same
    /// event each time, and a task that needs another position of the loop would wait forever.
    fn slice(&self, begin: u64, is_strict: bool) -> u64 {
        let part = self.options.max_steps / if is_strict { 1 } else { SLICES };
        let least = if is_strict { part } else { part - part / 4 };
        least + Rng::new(begin).below(part / 2 + 1)
    }
}
