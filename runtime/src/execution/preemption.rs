//! The rule of preemptions: the choices that are free, and those that cost a preemption.
//!
//! | the current task | a switch to another enabled task |
//! |---|---|
//! | can continue, and does not yield | a preemption |
//! | yields (`yield_step` and `spin_step` in `scheduling_point.rs`) | free |
//! | is blocked, ended, or held back by fairness | free |
//!
//! A task that is held back by fairness may continue, too. This costs a preemption: see
//! `execution/overstay.rs`.
//!
//! A timeout costs nothing only if no task can run and no other deadline is earlier: a program that
//! sleeps to let other tasks finish is nearly always right. Each other timeout costs as much as a
//! preemption. So do the outcomes for which `ChoicePoint::costs` of the search returns true:
//! spurious events, faults, rare events and late effects.

use super::state::Execution;
use crate::search::Cost;

/// The costs of the options at a scheduling point.
#[derive(Clone, Copy)]
pub(super) struct SwitchCosts {
    /// The first `free` options cost nothing. Each later option costs a preemption.
    pub(super) free: usize,
    /// The last option is the current task, which overstays if it is chosen.
    pub(super) may_overstay: bool,
    /// The first option is the current task, which can continue and does not yield. Each other
    /// option is a preemption.
    preempts: bool,
}

impl SwitchCosts {
    /// The costs of the options at a scheduling point. The first `runnable` options are no
    /// timeouts. `runs_on` states that the current task can continue. This task is then the first
    /// option, unless it has `yielded`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Execution::choose`")]
    pub(super) fn new(runs_on: bool, yielded: bool, runnable: usize) -> Self {
        let preempts = runs_on && !yielded;
        Self {
            free: if preempts { 1 } else { runnable.max(1) },
            may_overstay: false,
            preempts,
        }
    }
}

impl Execution {
    /// Counts the cost of the option numbered `chosen`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `Execution::choose`")]
    pub(super) fn count_switch(&mut self, costs: SwitchCosts, chosen: usize) {
        if chosen >= costs.free {
            self.recording.preemptions += 1;
            // Otherwise, a timeout fires early, or the current task overstays.
            self.running().preempted = costs.preempts;
            if costs.preempts && self.log.is_reported {
                self.report_preemption();
            }
        }
    }

    /// Counts the cost of `outcome`. If `costs`, each outcome other than 0 costs a preemption.
    #[inline]
    pub(super) fn count_outcome(&mut self, costs: bool, outcome: u32) {
        if costs && outcome != 0 {
            self.recording.preemptions += 1;
        }
    }

    /// The cost of the execution so far.
    pub(crate) fn cost(&self) -> Cost {
        Cost {
            preemptions: self.recording.preemptions,
            late_effects: self.recording.late_effects,
        }
    }
}
