//! Wakeup trees: the sequences of steps that must still be tried from a point of an execution.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction"
//! (POPL'14), section 6.

use super::labels::{Label, Labels, Outcomes};
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};
use chess_vocabulary::TaskId;

/// A sequence of steps of an execution.
pub(super) struct Sequence {
    labels: EngineVec<Label>,
    /// The index of each step in the trace.
    steps: EngineVec<u32>,
    /// The number of steps at the start of the sequence that have the same effects and the same
    /// order as in the trace.
    seen: usize,
    /// The sequence lacks steps that could come before its last step.
    is_partial: bool,
}

impl Sequence {
    pub(super) const fn new() -> Self {
        Self {
            labels: engine_vec(),
            steps: engine_vec(),
            seen: 0,
            is_partial: false,
        }
    }

    /// Begins a new sequence.
    pub(super) fn begin(&mut self, is_partial: bool) {
        self.labels.clear();
        self.steps.clear();
        self.seen = 0;
        self.is_partial = is_partial;
    }

    /// Appends a step that has the same effect as in the trace.
    pub(super) fn push(&mut self, label: Label, step: u32) {
        self.push_turned(label, step);
        self.seen = self.steps.len();
    }

    /// Appends a step of the reversed race. Its effect, and its order among the other steps, may
    /// differ from those in the trace. After it, only steps of the reversed race may be appended.
    pub(super) fn push_turned(&mut self, label: Label, step: u32) {
        self.labels.push(label);
        self.steps.push(step);
    }

    /// The first step of the sequence.
    pub(super) fn first(&self) -> Option<Label> {
        self.labels.first().copied()
    }

    /// The place of the first step of `task`.
    fn first_of(&self, labels: &Labels, task: TaskId) -> Option<usize> {
        let mut all = self.labels.iter();
        all.position(|&label| labels.task(label) == task)
    }

    /// Whether `label` is a weak initial of this sequence: whether some execution that begins with
    /// the step `label` is equivalent to an execution that begins with this sequence.
    ///
    /// A task that finds a lock of C code taken makes a step without a touch of the lock, so nothing
    /// in the relation precedes this step. If `label` acquires the lock, it must commute with the
    /// steps before this step, because one of them has taken the lock.
    ///
    /// For a partial sequence, `label` must be an initial: its task must have a step in the
    /// sequence. Otherwise the step could come after the sequence. Then its races would not lead
    /// to all executions with the steps that the sequence lacks.
    pub(super) fn can_begin_with(
        &self,
        labels: &Labels,
        label: Label,
        precedes: impl Fn(u32, u32) -> bool,
    ) -> bool {
        let Some(place) = self.first_of(labels, labels.task(label)) else {
            let mut others = self.labels.iter();
            return !self.is_partial && others.all(|&other| labels.commute(other, label));
        };
        let own = self.labels[place];
        let is_seen = place < self.seen;
        let is_blocked = labels.finds_lock_taken(own, label);
        let mut before = self.steps[..place].iter().zip(&self.labels);
        !before.any(|(&step, &other)| {
            precedes(step, self.steps[place])
                || !is_seen && !labels.commute(own, other)
                || is_blocked && !labels.commute(label, other)
        })
    }

    /// Whether the executions that begin with the step `branch` include all executions, up to
    /// equivalence, that begin with this sequence.
    fn is_led_to_by(
        &self,
        labels: &Labels,
        branch: Label,
        precedes: impl Fn(u32, u32) -> bool,
    ) -> bool {
        let outcomes = match self.first_of(labels, labels.task(branch)) {
            Some(place) => labels.outcomes(self.labels[place]),
            None => Outcomes::NONE,
        };
        outcomes == labels.outcomes(branch) && self.can_begin_with(labels, branch, precedes)
    }

    /// Removes the first step of `task`.
    fn leave_out(&mut self, labels: &Labels, task: TaskId) {
        if let Some(first) = self.first_of(labels, task) {
            self.labels.remove(first);
            self.steps.remove(first);
            self.seen -= usize::from(first < self.seen);
        }
    }
}

/// A branch of a wakeup tree: consecutive steps, and the branches after the last one of them.
pub(super) struct Branch {
    /// The steps in reverse order: the last element is the next step. Never empty.
    labels: EngineVec<Label>,
    then: EngineVec<Self>,
}

codec!(Branch { labels, then });

impl Branch {
    /// A branch of the steps of `sequence`.
    fn of(sequence: &Sequence) -> Self {
        let mut labels = engine_vec();
        labels.extend(sequence.labels.iter().rev().copied());
        Self {
            labels,
            then: engine_vec(),
        }
    }

    /// The next step.
    pub(super) fn next(&self) -> Label {
        *self.labels.last().expect("a branch has a step")
    }

    /// The branches after the next step.
    pub(super) fn after_next(mut self) -> EngineVec<Self> {
        self.labels.pop();
        if self.labels.is_empty() {
            return self.then;
        }
        let mut after = engine_vec();
        after.push(self);
        after
    }

    /// Keeps the next `steps` labels in this branch, and moves the rest to a child branch.
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

/// The number of steps in all branches.
pub(super) fn size(branches: &[Branch]) -> usize {
    let all = branches.iter();
    all.map(|branch| branch.labels.len() + size(&branch.then))
        .sum()
}

/// Inserts `sequence` into the tree of `branches`, unless the tree already leads to an execution
/// that is equivalent to one that begins with `sequence`. Returns the number of steps by which the
/// tree grew.
///
/// If the sequence begins with the steps of a path to a leaf, its other steps are appended to the
/// leaf. The algorithm of POPL'14 leaves the tree unchanged, because races after the leaf lead to
/// the sequence. But a leaf may have been inserted at a time when a step was not known to commute
/// with it, because that step might have been a write. This step is then in the sleep set after
/// the leaf, and hides these races.
pub(super) fn insert(
    mut branches: &mut EngineVec<Branch>,
    labels: &Labels,
    sequence: &mut Sequence,
    precedes: impl Fn(u32, u32) -> bool,
) -> usize {
    loop {
        let fits = |branch: &Branch| sequence.is_led_to_by(labels, branch.next(), &precedes);
        let Some(place) = branches.iter().position(fits) else {
            branches.push(Branch::of(sequence));
            return sequence.labels.len();
        };
        let branch = &mut branches[place];
        let mut common = 0;
        for &label in branch.labels.iter().rev() {
            if common > 0 && !sequence.is_led_to_by(labels, label, &precedes) {
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
            branch.then.push(Branch::of(sequence));
            return sequence.labels.len();
        }
        branches = &mut branches[place].then;
    }
}
