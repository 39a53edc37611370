//! The phases of a search. In the first phase, time passes only when no task can run. In the second
//! one, it passes at any time.
//!
//! A failure of the first phase does not need an early timeout. The second phase exists only if a
//! task waited with a deadline while there were other tasks. Otherwise it would have the same
//! schedules as the first one. The schedules of the second phase are a superset of those of the
//! first one, so its results cover both phases.

use super::{Explorer, begin_anew};
use crate::execution::Timers;
use crate::harness::helper_processes::Helpers;
use crate::harness::phase::{Phase, Reach};
use crate::harness::request::Request;
use crate::harness::run::Root;
use crate::search::Part;

/// The second phase gets this fraction of the budget: 1 / `SHARE`.
const SHARE: u64 = 4;

impl Explorer<'_> {
    /// Reserves a part of the budget for early timeouts when an execution first shows that they
    /// are possible. Returns whether the search must restart, because a strategy should know its
    /// budget from its first schedules on.
    pub(super) fn keeps_budget(&mut self, mut engine: Root) -> bool {
        let is_first = engine.exploration.schedules == engine.exploration.begun + 1;
        let phases = &engine.exploration.phases;
        let is_due = phases.phase == Phase::Last
            && phases.kept.is_none()
            && engine.execution.could_be_early
            // The parts of a space must agree on its phases: all parts run the first schedule.
            && (is_first || self.part == Part::WHOLE);
        if !is_due {
            return false;
        }
        let kept = self.budget / SHARE;
        self.budget -= kept;
        let work = engine.exploration.work;
        let phases = &mut engine.exploration.phases;
        phases.kept = Some(kept);
        phases.kept_work = phases.work_left(work).map_or(0, |left| left / SHARE);
        phases.work_limit = phases.work_limit.map(|limit| limit - phases.kept_work);
        is_first && self.budget > 0 && !engine.execution.recording.decisions.is_empty()
    }

    /// Begins the phase with early timeouts. Returns whether there is one.
    pub(super) fn begin_early(&mut self, mut engine: Root) -> bool {
        let exploration = &engine.exploration;
        let kept = exploration.phases.kept.unwrap_or(0);
        let early_follows = exploration.phases.phase == Phase::Last
            && (exploration.failure.is_none() || self.keep_going)
            && exploration.paused.is_none()
            && !engine.execution.is_out_of_time();
        if !early_follows || kept == 0 {
            return false;
        }
        let last = Reach::of(exploration);
        engine.execution.options.timers = Timers::Any;
        engine.exploration.share_last = engine.exploration.share.take();
        begin_anew(engine);
        let work = engine.exploration.work;
        let phases = &mut engine.exploration.phases;
        phases.phase = Phase::Early;
        phases.work_limit = phases.work_limit.map(|_| work + phases.kept_work);
        phases.last = Some(last);
        self.renew_helpers();
        self.current = 0..0;
        self.budget = kept;
        true
    }

    /// Dismisses the helpers of one search, so that the next one gets its own.
    pub(super) fn renew_helpers(&mut self) {
        let may_help = !self.helpers.is_dismissed;
        self.helpers.dismiss();
        self.helpers = Helpers::new(may_help);
    }
}

/// Sets the first phase of the search that `request` asks for.
pub(super) fn begin(mut engine: Root, request: &Request) {
    engine.execution.options.timers = request.timers;
    let early_follows = request.early_after && request.replay.is_none();
    let phases = &mut engine.exploration.phases;
    phases.phase = if early_follows {
        Phase::Last
    } else {
        Phase::Only
    };
    phases.work_limit = (request.work > 0).then_some(request.work);
}
