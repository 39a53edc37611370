//! The number of steps of one execution, its step limit, and the counts that are needed past the
//! limit.

/// The steps of one execution so far, and its limit.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) steps: u64,
    /// The number of candidates at all scheduling points at which the scheduler listed them.
    pub(crate) candidates: u64,
    /// From this step on, each step checks whether the execution must end. The value is the step
    /// limit, or 0 after a monitor has ended the execution.
    pub(super) horizon: u64,
    /// Whether the step limit was passed. Past the limit, the search makes no choices.
    pub(crate) past_limit: bool,
    /// Whether the search omitted a choice of an outcome past the limit. Omitted choices of a task
    /// do not count.
    pub(super) omits_outcome: bool,
    /// The step of the newest switch between tasks.
    pub(crate) last_switch: u64,
    /// The newest step at which a task yielded or began to wait with a deadline. The yield of a
    /// task that spins does not count if the task may be in a long computation.
    pub(crate) last_wait: u64,
    /// The step at which the newest task was created.
    pub(super) last_spawn: u64,
    /// The value of `steps` at the newest read of the clock.
    pub(super) last_clock_read: u64,
    /// The virtual time at the step limit, in nanoseconds.
    pub(super) clock_at_limit: u64,
    /// Past the limit: the current time slice does not end before this step.
    pub(super) slice_end: u64,
    /// The value of `last_switch` when the tasks were found to repeat a cycle of events past the
    /// limit. `None` if they were not.
    pub(crate) cycle: Option<u64>,
    /// The number of steps of the longest execution that ended by itself.
    pub(crate) longest: u64,
    /// An earlier execution of this schedule, or of the schedule that is being minimised, failed
    /// because it did not end. Then an execution that passes the step limit is ended soon after the
    /// limit.
    pub(crate) is_supposed_endless: bool,
}

impl Budget {
    /// The budget of an execution with this step limit.
    pub(super) const fn new(max_steps: u64) -> Self {
        Self {
            steps: 0,
            candidates: 0,
            horizon: max_steps,
            past_limit: false,
            omits_outcome: false,
            last_switch: 0,
            last_wait: 0,
            last_spawn: 0,
            last_clock_read: 0,
            clock_at_limit: 0,
            slice_end: 0,
            cycle: None,
            longest: 0,
            is_supposed_endless: false,
        }
    }

    /// Begins an execution with this step limit.
    pub(super) fn begin(&mut self, max_steps: u64) {
        *self = Self {
            longest: self.longest,
            is_supposed_endless: self.is_supposed_endless,
            ..Self::new(max_steps)
        };
    }
}
