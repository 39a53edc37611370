//! Race reversal: the wakeup sequences that are inserted after an execution. In `dpor` they are the
//! backtrack points; those of `icb` are in `icb/backtrack_points.rs`.

use super::labels::{ANYTHING, Label, Outcomes, Touches};
use super::wakeup::insert;
use super::{Dpor, Node};
use crate::base::memory::{EngineVec, engine_vec};
use crate::races::Race;
use crate::{Past, TraceStep};
use chess_vocabulary::Effect;

impl Dpor {
    /// The label of a step of the execution.
    fn label(&mut self, past: Past<'_>, step: usize) -> Label {
        if let Some(label) = self.steps[step] {
            return label;
        }
        let label = self.label_of(past, step, &self.touches_of(past, step));
        self.steps[step] = Some(label);
        label
    }

    fn label_of(&mut self, past: Past<'_>, step: usize, touches: &Touches) -> Label {
        let node = self.nodes.get(step);
        let outcomes = node.map_or(Outcomes::NONE, Node::outcomes);
        let task = past.trace.steps[step].task;
        self.labels.label(task, outcomes, touches)
    }

    /// The touches of a step. Their effects are those that the step may have if other steps that
    /// commute with it run first. For example, the drop of an `Arc` may become the last drop if
    /// another drop runs first. A step in which a task begins to wait for the readers of a lock
    /// would acquire the lock if they had released it first. Such a step counts as an acquisition
    /// if the relation orders it with the releases.
    pub(super) fn touches_of(&self, past: Past<'_>, step: usize) -> EngineVec<(usize, Effect)> {
        let mut touches = engine_vec();
        let named = past.trace.touches_of(step).iter();
        touches.extend(named.map(|touch| {
            let effect = match touch.effect {
                Effect::Update => touch.could,
                Effect::Queue if self.happens_before.orders_queues() => Effect::Acquire,
                effect => effect,
            };
            ((past.name)(touch.object), effect)
        }));
        touches
    }

    /// Labels the steps of the execution that had a choice. The first `known` steps already have
    /// labels.
    pub(super) fn note_labels(&mut self, past: Past<'_>, known: usize) {
        self.steps.truncate(known);
        self.steps.resize(past.trace.steps.len(), None);
        for step in known..self.nodes.len() {
            if !self.nodes[step].options.is_empty() {
                let label = self.label(past, step);
                let earlier = self.nodes[step].label.unwrap_or(label);
                self.nodes[step].label = Some(self.labels.join(earlier, label));
            }
        }
    }

    /// Inserts, for each race of the execution, a wakeup sequence that reverses it. The first
    /// `known` steps are those of the previous execution.
    ///
    /// A race of two known steps has been reversed after an earlier execution. But the sequence
    /// that reverses a race also contains later steps of the execution. If this execution has new
    /// steps that belong to the sequence, the race is reversed again. The algorithm needs the
    /// sequences of all executions for the following reason. It leaves out a sequence if a sleeping
    /// step commutes with all steps of the sequence. Then the executions in which the sleeping step
    /// comes after these steps must be found by the races of the sleeping step, in sequences that
    /// contain these steps.
    pub(super) fn reverse_races(&mut self, past: Past<'_>, known: usize) {
        let known = if self.has_read { known } else { 0 };
        self.has_read = true;
        let mut races = core::mem::replace(&mut self.races, engine_vec());
        races.retain(|race| (race.second as usize) < known);
        self.happens_before.read_on(past.trace, known, known);
        self.note_first_steps(past, known);
        for race in &races {
            if self.has_new_steps_beside(race.first) {
                self.reverse_race(past, *race);
            }
        }
        for at in 0..self.happens_before.races.len() {
            let race = self.happens_before.races[at];
            self.reverse_race(past, race);
            races.push(race);
        }
        self.races = races;
    }

    /// Records, for each task, its first step after the `known` first steps.
    fn note_first_steps(&mut self, past: Past<'_>, known: usize) {
        self.first_steps.clear();
        for step in known..self.nodes.len() {
            let task = past.trace.steps[step].task;
            let is_noted = |&it: &u32| past.trace.steps[it as usize].task == task;
            if !self.first_steps.iter().any(is_noted) {
                self.first_steps.push(step as u32);
            }
        }
    }

    /// Whether this execution has a step that the previous execution did not have, and that did not
    /// happen after the step `first`. Always false in a [long](Self::is_long) execution.
    fn has_new_steps_beside(&self, first: u32) -> bool {
        let is_beside = |&step: &u32| !self.happens_before.precedes(first, step);
        !self.is_long() && self.first_steps.iter().any(is_beside)
    }

    /// Inserts a wakeup sequence that reverses the race, unless other executions cover the
    /// sequence.
    fn reverse_race(&mut self, past: Past<'_>, race: Race) {
        if self.nodes[race.first as usize].options.is_empty() {
            return;
        }
        self.reverse(past, race);
        let node = &mut self.nodes[race.first as usize];
        let (labels, happens_before) = (&self.labels, &self.happens_before);
        let precedes = |earlier, later| happens_before.precedes(earlier, later);
        let sequence = &mut self.sequence;
        // A sequence whose first step is not enabled here would never run, but would subsume
        // sequences that can run.
        let first = sequence.first();
        let is_possible = first.is_none_or(|it| node.options.contains(&labels.task(it)));
        let mut asleep = node.asleep.iter();
        if is_possible && !asleep.any(|&label| sequence.can_begin_with(labels, label, precedes)) {
            self.planned += insert(&mut node.branches, labels, sequence, precedes);
        }
    }

    /// Whether the execution has more than [`LONG`](super::LONG) steps, so that its wakeup
    /// sequences are partial.
    fn is_long(&self) -> bool {
        self.nodes.len() > self.long
    }

    /// Builds the sequence that reverses a race. The sequence contains all later steps of the
    /// execution that did not happen after the race's first step, and then the race's second step.
    /// In a long execution the sequence is partial: of the former steps, it contains only those
    /// that happened before the second step. Partial sequences lead to more redundant executions,
    /// but their cost does not grow with the square of the length.
    fn reverse(&mut self, past: Past<'_>, Race { first, second, .. }: Race) {
        let is_long = self.is_long();
        self.sequence.begin(is_long);
        let steps = self.nodes.len() as u32;
        let end = if is_long { second } else { steps };
        for step in first + 1..end {
            let precedes = |one, other| self.happens_before.precedes(one, other);
            let is_needed = step != second && (!is_long || precedes(step, second));
            if is_needed && !precedes(first, step) {
                let label = self.label(past, step as usize);
                self.sequence.push(label, step);
            }
        }
        let touches = possible_touches_of(past, second as usize);
        let label = self.label_of(past, second as usize, &touches);
        self.sequence.push_turned(label, second);
        // If the first step awaits or has several operations, the conflict of the two steps may
        // depend on the values that it read first. Consider a third step that changes these values
        // and commutes with the second step. If it came between the two, no execution would show
        // the conflict. So the first step follows the second one immediately.
        let TraceStep {
            awaits,
            has_several_operations,
            ..
        } = past.trace.steps[first as usize];
        if awaits || has_several_operations {
            let label = self.label(past, first as usize);
            self.sequence.push_turned(label, first);
        }
    }
}

/// The touches that the second step of a race may have if the first step does not come before it.
/// [`ANYTHING`] is one of them if the step has several operations.
fn possible_touches_of(past: Past<'_>, step: usize) -> EngineVec<(usize, Effect)> {
    let mut touches = engine_vec();
    let named = past.trace.touches_of(step).iter();
    touches.extend(named.map(|touch| ((past.name)(touch.object), touch.could)));
    if past.trace.steps[step].has_several_operations {
        touches.push((ANYTHING, Effect::Write));
    }
    touches
}
