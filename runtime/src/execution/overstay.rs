//! Unfair continuations: a task that yields, and has starved others, may continue at the cost of a
//! preemption.
//!
//! A fair scheduler runs the starved tasks first. But a processor may leave a thread without time
//! for longer than another thread needs for a few yields. The search covers such executions at the
//! cost of one more preemption: the yielding task *overstays*. It continues, and its yields do not
//! count, up to a maximum that [`super::fairness`] defines. It can overstay again only after
//! another task has run. So all executions still end.
//!
//! A task that overstays is not preempted at its yields: a preemption before its next operation has
//! the same effect. Nor is it preempted before repeated reads. Nothing changes between these reads,
//! so only the task itself can see at which of them it was preempted, if it counts them. An outcome
//! that depends on this number is missed. The book states it as a limit.
//!
//! Only the systematic strategies choose unfair continuations. The sampling strategies do not.

use super::state::Execution;
use super::terms::Step;
use super::{Note, Op};

impl Execution {
    /// Whether fairness alone prevents the current task, which yields, from continuing, and the
    /// task may overstay.
    pub(super) fn is_held_back(&self) -> bool {
        let (schedule, current) = (&self.schedule, self.schedule.current);
        schedule.fairness.restrains()
            && schedule.enabled.contains(current)
            && !schedule.late.contains(current)
            && !schedule.fairness.allows(current, &schedule.enabled)
            && schedule
                .fairness
                .may_overstay(current, self.budget.last_switch)
            && !self.body_done
            && !self.budget.past_limit
            && (!self.policies.confines() || self.policies.may_preempt_at(self.task(current).site))
    }

    /// The current task, which is held back, overstays from now on.
    #[cold]
    pub(super) fn begin_overstay(&mut self) {
        let current = self.schedule.current;
        self.schedule.fairness.overstay(current, self.budget.steps);
        let is_kept = self.log.events.len() < self.log.most;
        match self.log.events.last_mut() {
            Some(event)
                if is_kept
                    && event.task == current
                    && matches!(event.op, Op::YieldNow | Op::SpinLoop) =>
            {
                event.note = Note::OVERSTAYS;
            }
            _ => self.running().note = Note::OVERSTAYS,
        }
    }

    /// Whether the current task overstays.
    pub(super) fn overstays(&self) -> bool {
        let (schedule, last_switch) = (&self.schedule, self.budget.last_switch);
        schedule.fairness.overstays(schedule.current, last_switch)
    }

    /// The current task, which overstays, continues after a yield or before a repeated read,
    /// without a choice. `cost` is one of the costs that [`super::fairness`] defines.
    #[cold]
    pub(super) fn overstay(&mut self, cost: u32) -> Step {
        self.schedule
            .fairness
            .count_overstaying(self.schedule.current, cost);
        self.decide_unless(true, false)
    }
}
