//! The budget of a search: schedules, time, or work (`harness/work.rs`).

use super::Explorer;
use crate::harness::run::{Root, strategy};
use crate::harness::work::{self, Counts};

impl Explorer<'_> {
    /// Whether the budget of schedules, time or work is used up. One execution runs even in the
    /// shortest time: without it, the test has no verdict. The budget of work is used up if less
    /// than the average work of an execution is left.
    pub(super) fn is_at_end(&self, engine: Root) -> bool {
        let exploration = &engine.exploration;
        let average = exploration.work.checked_div(exploration.schedules);
        let is_used_up = !has_room(engine, exploration.work, average.unwrap_or(0));
        let has_verdict = exploration.schedules > 0;
        self.budget == 0 || is_used_up || has_verdict && engine.execution.is_out_of_time()
    }

    /// Counts a schedule, possibly one of a helper, and its work.
    pub(in crate::harness) fn count(&self, mut engine: Root, work: u64) {
        let search = strategy(engine);
        search.spent(if self.spends_work { work } else { 1 });
        let explored = || search.explored();
        engine.exploration.count_schedule(work, explored);
    }
}

/// Whether the budget of work has room for another execution like the first one, which has just
/// ended. If it has none, the search ends with the first execution.
pub(super) fn has_room_for_another(engine: Root) -> bool {
    let first = work_of_last(engine);
    has_room(engine, first, first)
}

/// Whether an execution of the expected work `next` fits into the budget of work after `done`.
fn has_room(engine: Root, done: u64, next: u64) -> bool {
    let left = engine.exploration.phases.work_left(done);
    left.is_none_or(|left| left > 0 && left >= next)
}

/// The work of the last execution.
pub(super) fn work_of_last(engine: Root) -> u64 {
    let has_processes = engine.execution.options.has_processes;
    let usual = engine.exploration.usual_work(has_processes);
    work::of(Counts::of(&engine.execution), usual)
}
