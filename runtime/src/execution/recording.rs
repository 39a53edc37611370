//! The recording of one execution: its decisions, their cost, and the facts for a report.
//!
//! The events are recorded in the [`EventLog`](super::event::EventLog).

use super::TaskId;
use super::event::Early;
use super::observed::Observed;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::Decision;

/// The recording of one execution so far.
pub(crate) struct Recording {
    pub(crate) decisions: EngineVec<Decision>,
    /// The points where the search has no choice only because it is confined: it preempts only
    /// before some lines. Each element has the number of decisions before the point, and the task
    /// that continues there.
    pub(super) passed_over: EngineVec<(u32, TaskId)>,
    /// A hash of all decisions and states of the execution so far.
    pub(super) prefix: u64,
    pub(crate) preemptions: u32,
    /// The number of late effects, which count as preemptions.
    pub(crate) late_effects: u32,
    /// The sum of the outcomes of all choices of data.
    pub(crate) chosen_data: u64,
    /// The number of timeouts that fired while another task could run.
    pub(crate) early: u32,
    /// The waits that early timeouts ended; kept only for executions that are reported.
    pub(crate) early_waits: EngineVec<Early>,
    /// The states that the test has observed.
    pub(crate) observed: Observed,
    /// The output of the tasks, if it is kept.
    pub(crate) output: EngineVec<u8>,
}

impl Recording {
    pub(super) const fn new() -> Self {
        Self {
            decisions: engine_vec(),
            passed_over: engine_vec(),
            prefix: 0,
            preemptions: 0,
            late_effects: 0,
            chosen_data: 0,
            early: 0,
            early_waits: engine_vec(),
            observed: Observed::new(),
            output: engine_vec(),
        }
    }

    /// Begins a new recording in the memory of this one.
    pub(super) fn clear(&mut self) {
        self.observed.clear();
        *self = Self {
            decisions: emptied(&mut self.decisions),
            passed_over: emptied(&mut self.passed_over),
            early_waits: emptied(&mut self.early_waits),
            observed: core::mem::replace(&mut self.observed, Observed::new()),
            output: emptied(&mut self.output),
            ..Self::new()
        };
    }
}

/// Empties `list`, and returns it with its memory.
fn emptied<T>(list: &mut EngineVec<T>) -> EngineVec<T> {
    list.clear();
    core::mem::replace(list, engine_vec())
}
