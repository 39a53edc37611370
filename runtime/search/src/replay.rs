//! `replay`: runs one execution with the decisions of a given schedule.

use super::{ChoicePoint, Decision, Divergence, Ended, Progress, SchedulingPoint, Strategy};
use crate::base::memory::{EngineVec, engine_vec};
use chess_vocabulary::TaskId;

/// A decision of a replay, and its alternatives.
pub struct Taken {
    /// The number of events before the decision.
    pub event: u32,
    /// The decision that was taken.
    pub decision: Decision,
    /// The first `free` options cost nothing.
    pub free: u32,
    /// The tasks, or the outcomes of an operation.
    pub options: EngineVec<u32>,
}

/// The strategy that runs one schedule.
pub struct Replay {
    schedule: EngineVec<Decision>,
    started: bool,
    divergence: Option<Divergence>,
    taken: EngineVec<Taken>,
}

impl Replay {
    /// A replay of `schedule`.
    pub fn new(schedule: EngineVec<Decision>) -> Self {
        Self {
            schedule,
            started: false,
            divergence: None,
            taken: engine_vec(),
        }
    }

    fn decision(&self, index: u32) -> Option<Decision> {
        self.schedule.get(index as usize).copied()
    }

    fn diverge(&mut self, index: u32, expected: Decision) {
        self.divergence
            .get_or_insert(Divergence { index, expected });
    }

    /// The index of the option that the schedule names. 0 after the end of the schedule, or if the
    /// option is not possible: then the replay has diverged.
    fn follow(&mut self, point: &SchedulingPoint<'_>) -> usize {
        // After the end of the schedule, the execution continues without preemptions.
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

    /// The outcome that the schedule names. 0 after the end of the schedule, or if the outcome is
    /// not possible: then the replay has diverged.
    fn outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        match self.decision(point.index) {
            None => 0,
            Some(Decision::Outcome(outcome)) if outcome < point.outcomes => outcome,
            Some(decision) => {
                self.diverge(point.index, decision);
                0
            }
        }
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
        let chosen = self.follow(point);
        let mut options = engine_vec();
        options.extend(point.options.iter().map(|&TaskId(task)| task));
        self.taken.push(Taken {
            event: point.event,
            decision: Decision::Task(point.options[chosen]),
            free: point.free,
            options,
        });
        chosen
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let outcome = self.outcome(point);
        let mut options = engine_vec();
        options.extend(0..point.outcomes);
        self.taken.push(Taken {
            event: point.event,
            decision: Decision::Outcome(outcome),
            free: if point.costs() { 1 } else { point.outcomes },
            options,
        });
        outcome
    }

    fn retry(&mut self) {
        self.divergence = None;
        self.taken.clear();
    }

    fn end(&mut self, _execution: &Ended<'_>) {}

    fn diverged(&self) -> bool {
        self.divergence.is_some()
    }

    fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    fn taken(&self) -> &[Taken] {
        &self.taken
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }
}
