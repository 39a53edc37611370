//! Requests of a test to the search: choices of data, rare events, assumptions, histories, and
//! observed states.

use super::event::Event;
use super::running::running;
use super::state::Execution;
use super::task::Wait;
use super::terms::{Site, Step};
use super::{Note, Op};
use crate::base::fingerprint::{self, mix};
use crate::search::{ObjectId, Outcomes};

impl Execution {
    /// Lets the search choose one of `outcomes` outcomes for the running task. The choice is no
    /// scheduling point, because it commutes with all operations of other tasks.
    fn choose_data(&mut self, op: Op, site: Site, outcomes: u32, kind: Outcomes<'_>) -> u32 {
        let count = self.running().draws;
        self.running().draws = count.wrapping_add(1);
        // Past the step limit, the outcome varies from choice to choice: a loop may end only with
        // one outcome.
        let outcome = if self.budget.past_limit && op == Op::Choose {
            self.budget.omits_outcome |= outcomes > 1;
            count % outcomes
        } else {
            self.choose_outcome(outcomes, kind)
        };
        let note = match (op, outcome) {
            (Op::Rarely, 0) => Note::NONE,
            (Op::Rarely, _) => Note::HAPPENS,
            _ => {
                self.recording.chosen_data += u64::from(outcome);
                Note::drew(outcome)
            }
        };
        self.log_choice(op, site, note);
        outcome
    }

    /// Records a choice of the running task. Unlike an event of [`Self::record`], the choice does
    /// not count as progress of the task: a loop that spins may make a choice in each iteration.
    pub(super) fn log_choice(&mut self, op: Op, site: Site, note: Note) {
        let task = self.schedule.tasks.running_mut();
        let event = Event {
            site: Some(site),
            task: self.schedule.current,
            object: ObjectId::NONE,
            op,
            effect: op.effect(),
            preempted: core::mem::replace(&mut task.preempted, false),
            note,
        };
        // The behaviour of the task after the choice depends on the outcome.
        let outcome = note.drawn().or(note.lost()).unwrap_or_default();
        task.last_event = mix(task.last_event, outcome.into());
        let last = &mut task.last_event;
        self.log.record(event, &mut self.objects, last);
        if self.log.is_reported {
            self.report_event(&event);
        }
    }

    /// Adds the number of writes that a crash loses to the sum of the choices of data.
    pub(super) fn note_loss(&mut self, writes: u32) {
        self.recording.chosen_data += u64::from(writes);
    }

    /// Stops the running task for good, because the assumption at `site` does not hold.
    ///
    /// The other tasks continue. Their operations commute with the assumption, so in another
    /// schedule these operations come before it. Therefore the search must see them.
    fn leave_for_good(&mut self, site: Site) -> Step {
        self.log_choice(Op::Assume, site, Note::NONE);
        self.unmet_assumption = Some(site);
        self.block(Wait::Assumption, None);
        self.decide(false)
    }
}

/// Returns a number below `outcomes`, which must be at least one. The search chooses the number, at
/// no cost. `None` outside an execution.
pub fn choose(outcomes: u32, site: Site) -> Option<u32> {
    let execution = running()?;
    execution.step(|it| it.pass(Op::Choose, site));
    Some(execution.with(|it| it.choose_data(Op::Choose, site, outcomes, Outcomes::Data)))
}

/// Whether a rare event happens: a choice of the search that costs as much as a preemption. `None`
/// outside an execution.
pub fn happens_rarely(site: Site) -> Option<bool> {
    let execution = running()?;
    execution.step(|it| it.pass(Op::Rarely, site));
    Some(execution.with(|it| it.choose_data(Op::Rarely, site, 2, Outcomes::Rare) == 1))
}

/// Records the hash of a state that the test has reached. The same hash at another `site` stands
/// for another state. The record is no event, and has no effect on the search. No effect outside an
/// execution.
pub fn observe(state: u64, site: Site) {
    let Some(execution) = running() else { return };
    let file = fingerprint::of(state, site.file().as_bytes());
    let state = mix(
        file,
        u64::from(site.line()) << 32 | u64::from(site.column()),
    );
    execution.with(|it| it.recording.observed.add(state));
}

/// Reaches a scheduling point at the start of an operation in the history `object`, or at its end
/// if `ends`. Returns the number of steps so far, which orders the starts and ends of operations in
/// an execution. `None` outside an execution.
pub fn note_in_history(object: usize, ends: bool, site: Site) -> Option<u64> {
    let execution = running()?;
    super::access(if ends { Op::Return } else { Op::Call }, object, site);
    Some(execution.with(|it| it.budget.steps))
}

/// Ends the running task for good, because the assumption at `site` does not hold. Returns only
/// outside an execution.
pub fn assumption_fails(site: Site) {
    let Some(execution) = running() else { return };
    execution.step(|it| it.pass(Op::Assume, site));
    execution.step(|it| it.leave_for_good(site));
}
