//! Labels: numbers for the different steps of all executions. Each step is stored once.

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{Codec, codec};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use chess_vocabulary::{Effect, TaskId};

/// A number that represents a step: its task, its outcomes and its touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(u32);

/// The objects that a step touches, with their effects. An object is represented by its address,
/// which is the same in all executions.
pub(super) type Touches = [(usize, Effect)];

/// The address of an unknown object: it may be any object.
pub(super) const ANYTHING: usize = usize::MAX;

/// The step that a label represents.
#[derive(Clone, Copy)]
struct Meaning {
    task: TaskId,
    outcomes: Outcomes,
    /// The index of its first touch, and the number of its touches.
    first: u32,
    count: u32,
}

codec!(Meaning {
    task,
    outcomes,
    first,
    count,
});

/// A hash of the outcomes of a step's operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcomes(u64);

impl Outcomes {
    /// The value of a step whose operations have one possible outcome each. It is also the value of
    /// a label that stands for a step with any outcomes.
    pub(super) const NONE: Self = Self(0);

    /// The outcomes with these names, in this order.
    pub(super) fn of(outcomes: impl Iterator<Item = u64>) -> Self {
        Self(outcomes.fold(0, mix))
    }
}

impl Codec for Outcomes {
    fn write(&self, out: &mut Checkpoint) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u64::read(input).map(Self)
    }
}

/// The table of all labels.
pub(super) struct Labels {
    meanings: EngineVec<Meaning>,
    touches: EngineVec<(usize, Effect)>,
    /// A hash table with open addressing; an empty slot is [`VACANT`].
    slots: EngineVec<u32>,
}

const VACANT: u32 = u32::MAX;
const FIRST_SIZE: usize = 64;

impl Labels {
    pub(super) const fn new() -> Self {
        Self {
            meanings: engine_vec(),
            touches: engine_vec(),
            slots: engine_vec(),
        }
    }

    /// The number of labels.
    pub(super) fn count(&self) -> usize {
        self.meanings.len()
    }

    /// The task of the step.
    #[inline]
    pub(super) fn task(&self, label: Label) -> TaskId {
        self.meanings[label.0 as usize].task
    }

    #[inline]
    pub(super) fn outcomes(&self, label: Label) -> Outcomes {
        self.meanings[label.0 as usize].outcomes
    }

    #[inline]
    pub(super) fn touches(&self, label: Label) -> &Touches {
        let Meaning { first, count, .. } = self.meanings[label.0 as usize];
        &self.touches[first as usize..][..count as usize]
    }

    /// Whether two steps of different tasks commute.
    #[inline]
    pub(super) fn commute(&self, one: Label, other: Label) -> bool {
        commute(self.touches(one), self.touches(other))
    }

    /// Whether `label` acquires a lock that `own`, another step of the same task, does not touch:
    /// in `own`, the task found the lock taken.
    #[inline]
    pub(super) fn finds_lock_taken(&self, own: Label, label: Label) -> bool {
        own != label
            && self.touches(label).iter().any(|&(lock, effect)| {
                matches!(effect, Effect::Acquire | Effect::Enter)
                    && self.touches(own).iter().all(|&(object, _)| object != lock)
            })
    }

    /// The label of a step of `task` with these `outcomes` that touches `touches`.
    pub(super) fn label(&mut self, task: TaskId, outcomes: Outcomes, touches: &Touches) -> Label {
        if (self.meanings.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(task, outcomes, touches) & mask;
        while self.slots[at] != VACANT {
            let label = Label(self.slots[at]);
            let same = self.task(label) == task && self.outcomes(label) == outcomes;
            if same && self.touches(label) == touches {
                return label;
            }
            at = (at + 1) & mask;
        }
        let label = Label(self.meanings.len() as u32);
        self.slots[at] = label.0;
        self.meanings.push(Meaning {
            task,
            outcomes,
            first: self.touches.len() as u32,
            count: touches.len() as u32,
        });
        self.touches.extend_from_slice(touches);
        label
    }

    /// The label of a step with the touches of both steps, and with any outcomes. `one` and
    /// `other` must be steps of the same task.
    pub(super) fn join(&mut self, one: Label, other: Label) -> Label {
        if one == other && self.outcomes(one) == Outcomes::NONE {
            return one;
        }
        let mut both = engine_vec();
        both.extend_from_slice(self.touches(one));
        for touch in self.touches(other) {
            if !both.contains(touch) {
                both.push(*touch);
            }
        }
        self.label(self.task(one), Outcomes::NONE, &both)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SIZE);
        self.fill(size);
    }

    /// Enters all labels into a table of `size` slots.
    fn fill(&mut self, size: usize) {
        self.slots.clear();
        self.slots.resize(size, VACANT);
        for label in 0..self.meanings.len() as u32 {
            let Meaning { task, outcomes, .. } = self.meanings[label as usize];
            let place = hash(task, outcomes, self.touches(Label(label)));
            let mut at = place & (size - 1);
            while self.slots[at] != VACANT {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = label;
        }
    }
}

/// Whether steps of different tasks with these touches commute.
#[inline]
pub(super) fn commute(one: &Touches, other: &Touches) -> bool {
    one.iter().all(|&(object, effect)| {
        let mut others = other.iter();
        others.all(|&(other, later)| {
            let meets = object == other || object == ANYTHING || other == ANYTHING;
            !meets || effect.commutes(later)
        })
    })
}

fn hash(task: TaskId, outcomes: Outcomes, touches: &Touches) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = (u64::from(task.0) ^ outcomes.0).wrapping_mul(FACTOR);
    let hash = touches.iter().fold(start, |hash, &(object, effect)| {
        let touch = (object as u64) << 3 ^ effect as u64;
        (hash ^ touch).wrapping_mul(FACTOR).rotate_left(29)
    });
    (hash ^ hash >> 32) as usize
}

impl Codec for Label {
    fn write(&self, out: &mut Checkpoint) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u32::read(input).map(Self)
    }
}

impl Codec for Labels {
    fn write(&self, out: &mut Checkpoint) {
        self.meanings.write(out);
        self.touches.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let mut labels = Self {
            meanings: Codec::read(input)?,
            touches: Codec::read(input)?,
            slots: engine_vec(),
        };
        let size = (labels.meanings.len() + 1) * 2;
        labels.fill(size.next_power_of_two().max(FIRST_SIZE));
        Some(labels)
    }
}
