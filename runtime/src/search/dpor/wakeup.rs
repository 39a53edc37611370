//! Wakeup trees: the sequences of steps that are still to be tried from a point of an execution.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction"
//! (POPL'14), section 6.

use super::super::stored::stored;
use crate::execution::{Effect, TaskId};
use crate::platform::memory::{EngineVec, engine_vec};

/// A step as another execution has shown it.
#[derive(Clone)]
pub(super) struct Label {
    pub(super) task: TaskId,
    /// What it touches: objects by their addresses, which all executions share.
    pub(super) touches: EngineVec<(usize, Effect)>,
}

stored!(Label { task, touches });

impl Label {
    /// Whether the two steps, of different tasks, commute.
    pub(super) fn commutes(&self, other: &Self) -> bool {
        commute(&self.touches, &other.touches)
    }
}

/// Whether two steps of different tasks that touch these commute.
pub(super) fn commute(one: &[(usize, Effect)], other: &[(usize, Effect)]) -> bool {
    one.iter().all(|(object, effect)| {
        let mut others = other.iter();
        others.all(|(other, later)| object != other || effect.commutes(*later))
    })
}

/// A sequence of steps, and which of them happened before which.
pub(super) struct Sequence {
    pub(super) labels: EngineVec<Label>,
    /// Of each step, its number in the trace that happens-before is known of.
    pub(super) steps: EngineVec<u32>,
}

impl Sequence {
    /// The place of the first step of `task`.
    fn first_of(&self, task: TaskId) -> Option<usize> {
        self.labels.iter().position(|label| label.task == task)
    }

    /// Whether `label`'s task can take the first step of an execution that is
    /// equivalent to one that begins with this sequence (a weak initial).
    pub(super) fn can_begin_with(
        &self,
        label: &Label,
        precedes: impl Fn(u32, u32) -> bool,
    ) -> bool {
        match self.first_of(label.task) {
            Some(place) => {
                let before = &self.steps[..place];
                !before.iter().any(|&step| precedes(step, self.steps[place]))
            }
            None => self.labels.iter().all(|other| other.commutes(label)),
        }
    }
}

/// A step to try, and what is to come after it.
pub(super) struct Branch {
    pub(super) label: Label,
    pub(super) then: EngineVec<Self>,
}

stored!(Branch { label, then });

/// Adds `sequence` to the tree of `branches`, unless an execution that is to be
/// tried anyway is equivalent to one that begins with it.
pub(super) fn insert(
    mut branches: &mut EngineVec<Branch>,
    mut sequence: Sequence,
    precedes: impl Fn(u32, u32) -> bool,
) {
    loop {
        let fits = |branch: &Branch| sequence.can_begin_with(&branch.label, &precedes);
        let Some(place) = branches.iter().position(fits) else {
            break;
        };
        if let Some(first) = sequence.first_of(branches[place].label.task) {
            sequence.labels.remove(first);
            sequence.steps.remove(first);
        }
        branches = &mut branches[place].then;
        if branches.is_empty() || sequence.labels.is_empty() {
            return;
        }
    }
    let mut then = engine_vec();
    while let Some(label) = sequence.labels.pop() {
        let mut branch = engine_vec();
        branch.push(Branch { label, then });
        then = branch;
    }
    branches.extend(then);
}
