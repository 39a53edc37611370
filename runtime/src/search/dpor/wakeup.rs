//! Wakeup trees: the sequences of steps that are still to be tried from a point of an execution.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction"
//! (POPL'14), section 6.

use super::super::stored::stored;
use super::labels::{Label, Labels};
use crate::execution::TaskId;
use crate::platform::memory::{EngineVec, engine_vec};

/// A sequence of steps of an execution.
pub(super) struct Sequence {
    labels: EngineVec<Label>,
    /// Of each step, its number in the trace that happens-before is known of.
    steps: EngineVec<u32>,
}

impl Sequence {
    pub(super) const fn new() -> Self {
        Self {
            labels: engine_vec(),
            steps: engine_vec(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.labels.clear();
        self.steps.clear();
    }

    pub(super) fn push(&mut self, label: Label, step: u32) {
        self.labels.push(label);
        self.steps.push(step);
    }

    /// The place of the first step of `task`.
    fn first_of(&self, labels: &Labels, task: TaskId) -> Option<usize> {
        let mut all = self.labels.iter();
        all.position(|&label| labels.task(label) == task)
    }

    /// Whether `label`'s task can take the first step of an execution that is
    /// equivalent to one that begins with this sequence (a weak initial).
    pub(super) fn can_begin_with(
        &self,
        labels: &Labels,
        label: Label,
        precedes: impl Fn(u32, u32) -> bool,
    ) -> bool {
        match self.first_of(labels, labels.task(label)) {
            Some(place) => {
                let before = &self.steps[..place];
                !before.iter().any(|&step| precedes(step, self.steps[place]))
            }
            None => self
                .labels
                .iter()
                .all(|&other| labels.commute(other, label)),
        }
    }

    /// Leaves out the first step of `task`.
    fn leave_out(&mut self, labels: &Labels, task: TaskId) {
        if let Some(first) = self.first_of(labels, task) {
            self.labels.remove(first);
            self.steps.remove(first);
        }
    }
}

/// Steps to try one after the other, and what is to come after them.
pub(super) struct Branch {
    /// At least one, the next one last.
    labels: EngineVec<Label>,
    then: EngineVec<Self>,
}

stored!(Branch { labels, then });

impl Branch {
    /// A branch of the steps that are left of `sequence`.
    fn of(sequence: &Sequence) -> Self {
        let mut labels = engine_vec();
        labels.extend(sequence.labels.iter().rev().copied());
        Self {
            labels,
            then: engine_vec(),
        }
    }

    /// The step that comes next.
    pub(super) fn next(&self) -> Label {
        *self.labels.last().expect("a branch has a step")
    }

    /// Makes what comes after the last `steps` of the labels a branch of its own.
    fn split(&mut self, steps: usize) {
        let rest = self.labels.len() - steps;
        let mut next = engine_vec();
        next.extend(self.labels.drain(rest..));
        let rest = Self {
            labels: core::mem::replace(&mut self.labels, next),
            then: core::mem::replace(&mut self.then, engine_vec()),
        };
        self.then.push(rest);
    }
}

/// How many steps there are in all.
pub(super) fn size(branches: &[Branch]) -> usize {
    let all = branches.iter();
    all.map(|branch| branch.labels.len() + size(&branch.then))
        .sum()
}

/// Takes the next step of the first of `branches`: what comes after it remains. Returns
/// what else there is to try in its place.
pub(super) fn take_first(branches: &mut EngineVec<Branch>) -> EngineVec<Branch> {
    let others = branches.split_off(1);
    let first = &mut branches[0];
    first.labels.pop();
    if first.labels.is_empty() {
        *branches = core::mem::replace(&mut first.then, engine_vec());
    }
    others
}

/// Adds `sequence` to the tree of `branches`, unless an execution that is to be
/// tried anyway is equivalent to one that begins with it. Returns how many steps the
/// tree grew by.
pub(super) fn insert(
    mut branches: &mut EngineVec<Branch>,
    labels: &Labels,
    sequence: &mut Sequence,
    precedes: impl Fn(u32, u32) -> bool,
) -> usize {
    loop {
        let fits = |branch: &Branch| sequence.can_begin_with(labels, branch.next(), &precedes);
        let Some(place) = branches.iter().position(fits) else {
            branches.push(Branch::of(sequence));
            return sequence.labels.len();
        };
        let branch = &mut branches[place];
        let mut common = 0;
        for &label in branch.labels.iter().rev() {
            if common > 0 && !sequence.can_begin_with(labels, label, &precedes) {
                break;
            }
            sequence.leave_out(labels, labels.task(label));
            common += 1;
            if sequence.labels.is_empty() {
                return 0;
            }
        }
        if common < branch.labels.len() {
            branch.split(common);
        } else if branch.then.is_empty() {
            return 0;
        }
        branches = &mut branches[place].then;
    }
}
