//! Saves the schedules of failures, with everything that a replay needs.

use super::inputs::Inputs;
use super::list::ListedTest;
use crate::config::{Exploration, Fault, MemoryAccesses, Races, Spins, Spurious};
use crate::error::Result;
use crate::events::{OtherFailure, Outcome};
use crate::protocol::{Finished, Other};
use crate::schedule::Schedule;
use crate::text::source_path;

/// The path of a saved schedule, relative to the workspace, and the schedule.
pub(super) type Saved = (String, Schedule);

/// Saves the schedules of one run.
pub(super) struct Saving<'a> {
    inputs: Inputs<'a>,
    /// The digest of the sources, computed at the first failure.
    sources: Option<String>,
}

impl<'a> Saving<'a> {
    /// Creates the saving of a run with these `inputs`. No schedule is saved yet.
    pub(super) fn new(inputs: Inputs<'a>) -> Self {
        Self {
            inputs,
            sources: None,
        }
    }

    /// Saves the schedule of the failure that the verdict describes.
    pub(super) fn save_first(
        &mut self,
        test: &ListedTest,
        exploration: &Exploration,
        finished: &Finished,
    ) -> Result<Option<Saved>> {
        let (Outcome::Failed | Outcome::Timing, Some(kind), Some(decisions)) =
            (finished.outcome, finished.kind, &finished.decisions)
        else {
            return Ok(None);
        };
        let failure = Other {
            failure: OtherFailure {
                message: finished.message.clone(),
                location: finished.location.clone(),
                preemptions: finished.counts.preemptions,
                late_effects: finished.counts.late_effects,
                ..OtherFailure::of_kind(kind)
            },
            decisions: decisions.clone(),
            points: finished.points.clone(),
            timers: finished.timers.clone(),
            forgives_races: false,
        };
        self.save(test, exploration, finished, &failure).map(Some)
    }

    /// Saves the schedule of a failure. Returns its path, relative to the workspace, and the
    /// schedule.
    pub(super) fn save(
        &mut self,
        test: &ListedTest,
        exploration: &Exploration,
        finished: &Finished,
        other: &Other,
    ) -> Result<Saved> {
        let plan = self.inputs.plan;
        let sources = match &self.sources {
            Some(sources) => sources.clone(),
            None => self.sources.insert(plan.digest_of_sources()?).clone(),
        };
        let races = if other.forgives_races {
            Races::Allow
        } else {
            exploration.races
        };
        let schedule = Schedule {
            test: test.id.clone(),
            kind: other.failure.kind,
            message: other.failure.message.clone().unwrap_or_default(),
            location: other.failure.location.clone().map(|mut location| {
                location.file = source_path(&location.file);
                location
            }),
            preemptions: other.failure.preemptions,
            strategy: finished
                .strategy
                .clone()
                .unwrap_or_else(|| "auto".to_owned()),
            seed: exploration.seed,
            memory: exploration.memory.to_string(),
            max_steps: exploration.max_steps,
            isolate: exploration.isolate.to_string(),
            backend: exploration.backend.to_string(),
            timers: other.timers.clone().filter(|timers| timers != "any"),
            spurious: (exploration.spurious != Spurious::Any)
                .then(|| exploration.spurious.to_string()),
            faults: (!exploration.faults.is_empty()).then(|| Fault::list(&exploration.faults)),
            memory_accesses: (exploration.memory_accesses != MemoryAccesses::Watch)
                .then(|| exploration.memory_accesses.to_string()),
            races: (races != Races::Deny).then(|| races.to_string()),
            spins: (exploration.spins != Spins::Warn).then(|| exploration.spins.to_string()),
            only_run: only_run(exploration, finished),
            points: other.points.clone(),
            intended: finished.intended.clone(),
            cargo: self.inputs.cargo_flags.to_owned(),
            sources,
            decisions: other.decisions.clone(),
            preempted_at: Vec::new(),
        };
        let path = schedule.save(&plan.chess_dir)?;
        let shown = path.strip_prefix(&plan.workspace_root).unwrap_or(&path);
        Ok((shown.to_string(), schedule))
    }
}

/// The limit of the replay of a test that was only run and not explored: `time` or `steps`.
/// Returns `None` if the test was explored, or if its execution did not exceed `max-steps`.
fn only_run(exploration: &Exploration, finished: &Finished) -> Option<String> {
    let is_beyond = finished.counts.max_steps_in_execution > exploration.max_steps;
    let limit = exploration.time.map_or("steps", |_| "time");
    (exploration.schedules == Some(1) && is_beyond).then(|| limit.to_owned())
}
