//! The races of an execution are turned round: which sequences of steps are tried after it.

use super::labels::{ANYTHING, Label, Outcomes, Touches};
use super::wakeup::insert;
use super::{Dpor, Node};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::Effect;
use crate::search::Past;
use crate::search::races::Race;

/// Executions of more steps are long.
const LONG: u32 = 1000;

impl Dpor {
    /// The label of a step of the execution.
    fn label(&mut self, past: Past<'_>, step: usize) -> Label {
        if let Some(label) = self.steps[step] {
            return label;
        }
        let label = self.label_of(past, step, &touches_of(past, step));
        self.steps[step] = Some(label);
        label
    }

    fn label_of(&mut self, past: Past<'_>, step: usize, touches: &Touches) -> Label {
        let node = self.nodes.get(step);
        let outcomes = node.map_or(Outcomes::NONE, Node::outcomes);
        let task = past.trace.steps[step].task;
        self.labels.label(task, outcomes, touches)
    }

    /// Notes what the steps touched, the first `known` of which have been seen before.
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

    /// Adds, for each race of the execution, what would turn it round. Those of its
    /// first `known` steps were seen before.
    pub(super) fn turn_races(&mut self, past: Past<'_>, known: usize) {
        // The execution before went as this one up to there.
        self.happens_before.read_on(past.trace, known, known);
        for at in 0..self.happens_before.races.len() {
            let race = self.happens_before.races[at];
            if self.nodes[race.first as usize].options.is_empty() {
                continue;
            }
            self.turn(past, race);
            let node = &mut self.nodes[race.first as usize];
            let (labels, happens_before) = (&self.labels, &self.happens_before);
            let precedes = |earlier, later| happens_before.precedes(earlier, later);
            let sequence = &mut self.sequence;
            // What cannot begin here would never be tried, and stand in for what can.
            let first = sequence.first();
            let is_possible = first.is_none_or(|it| node.options.contains(&labels.task(it)));
            let mut asleep = node.asleep.iter();
            if is_possible && !asleep.any(|&label| sequence.can_begin_with(labels, label, precedes))
            {
                self.planned += insert(&mut node.branches, labels, sequence, precedes);
            }
        }
    }

    /// Makes the sequence that turns a race round: all steps since its first one that
    /// did not happen after it, and then the second one; in long executions only those
    /// that the second one needs: a few more go where others have been, but what the
    /// races take does not grow with the square of the length.
    fn turn(&mut self, past: Past<'_>, Race { first, second, .. }: Race) {
        self.sequence.clear();
        let steps = self.nodes.len() as u32;
        let is_long = steps > LONG;
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
        // That the two conflict may be due to what the first one saw. After something that
        // changes this, and commutes with the second one, nothing would show the conflict:
        // so it is to come next.
        if past.trace.steps[first as usize].awaits {
            let label = self.label(past, first as usize);
            self.sequence.push_turned(label, first);
        }
    }
}

/// What a step of the execution touched, or may touch after steps that commute with
/// it: with one other owner gone, the drop of an `Arc` may be the last one.
pub(super) fn touches_of(past: Past<'_>, step: usize) -> EngineVec<(usize, Effect)> {
    let mut touches = engine_vec();
    let named = past.trace.touches_of(step).iter();
    touches.extend(named.map(|touch| {
        let effect = match touch.effect {
            Effect::Update => touch.could,
            effect => effect,
        };
        ((past.name)(touch.object), effect)
    }));
    touches
}

/// What the second step of a race may touch without the first one.
fn possible_touches_of(past: Past<'_>, step: usize) -> EngineVec<(usize, Effect)> {
    let mut touches = engine_vec();
    let named = past.trace.touches_of(step).iter();
    touches.extend(named.map(|touch| ((past.name)(touch.object), touch.could)));
    if past.trace.steps[step].goes_on {
        touches.push((ANYTHING, Effect::Write));
    }
    touches
}
