//! `replay`: takes the decisions of one schedule, once.

use super::{ChoicePoint, Decision, Divergence, Ended, Progress, SchedulingPoint, Strategy};
use crate::platform::memory::EngineVec;

/// One schedule.
pub(crate) struct Replay {
    schedule: EngineVec<Decision>,
    started: bool,
    divergence: Option<Divergence>,
}

impl Replay {
    pub(crate) fn new(schedule: EngineVec<Decision>) -> Self {
        Self {
            schedule,
            started: false,
            divergence: None,
        }
    }

    fn decision(&self, index: u32) -> Option<Decision> {
        self.schedule.get(index as usize).copied()
    }

    fn diverge(&mut self, index: u32, expected: Decision) {
        self.divergence
            .get_or_insert(Divergence { index, expected });
    }
}

impl Strategy for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn begin(&mut self) -> bool {
        !core::mem::replace(&mut self.started, true)
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        // Past its end a schedule goes on without preemptions.
        let Some(decision) = self.decision(point.index) else {
            return 0;
        };
        let wanted = match decision {
            Decision::Task(task) => point.options.iter().position(|&t| t == task),
            Decision::Outcome(_) => None,
        };
        wanted.unwrap_or_else(|| {
            self.diverge(point.index, decision);
            0
        })
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        match self.decision(point.index) {
            None => 0,
            Some(Decision::Outcome(outcome)) if outcome < point.outcomes => outcome,
            Some(decision) => {
                self.diverge(point.index, decision);
                0
            }
        }
    }

    fn retry(&mut self) {
        self.divergence = None;
    }

    fn end(&mut self, _execution: &Ended<'_>) {}

    fn diverged(&self) -> bool {
        self.divergence.is_some()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }
}
