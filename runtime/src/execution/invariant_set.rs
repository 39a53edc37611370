//! The invariants of one execution, and those that must be checked.

use super::Effect;
use super::terms::{Mode, Site};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

/// A condition of the program.
pub type Condition = Box<dyn Fn() -> bool + Send>;

/// An object that a condition read.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) object: ObjectId,
    /// The mode in which the condition locked the object, if it did.
    pub(super) locked: Option<Mode>,
}

/// An invariant of the running execution.
pub(super) struct Invariant {
    /// Points to a box, which the first step of the invariant makes and its last step drops.
    pub(super) condition: *mut Condition,
    pub(super) name: EngineVec<u8>,
    /// The objects that the last check of the invariant read.
    pub(super) reads: EngineVec<Read>,
    /// An operation has changed an object of `reads` since the last check.
    pub(super) is_due: bool,
}

/// An invariant that does not hold.
pub(crate) struct Broken {
    /// The name of the invariant.
    pub(crate) name: EngineVec<u8>,
    /// The message of the panic of its condition, if the condition panicked.
    pub(crate) panic: Option<EngineVec<u8>>,
    /// The line of the operation after which the invariant does not hold.
    pub(crate) site: Option<Site>,
}

/// The invariants of the running execution.
pub(crate) struct Invariants {
    pub(super) all: EngineVec<Invariant>,
    /// An invariant must be checked before another task runs.
    pub(super) are_due: bool,
    /// The objects that the running operation changed.
    pub(super) changed: EngineVec<ObjectId>,
    /// The address of each object that the running condition has read, with the mode in which the
    /// condition locked the object, if it did.
    pub(super) seen: EngineVec<(usize, Option<Mode>)>,
    /// The first invariant that did not hold.
    pub(crate) broken: Option<Broken>,
}

impl Invariants {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            are_due: false,
            changed: engine_vec(),
            seen: engine_vec(),
            broken: None,
        }
    }

    pub(super) fn clear(&mut self) {
        // The boxes of the conditions are not dropped: their memory belonged to the last
        // execution.
        self.all.clear();
        self.are_due = false;
        self.changed.clear();
        self.broken = None;
    }

    /// Records that the running operation changes `object`.
    #[inline]
    pub(super) fn changes(&mut self, object: ObjectId, effect: Effect) {
        // A writer in the queue of a lock changes nothing that a condition can read.
        if !self.all.is_empty() && !effect.is_quiet() && effect != Effect::Queue {
            self.note_change(object);
        }
    }

    #[cold]
    fn note_change(&mut self, object: ObjectId) {
        for invariant in &mut self.all {
            if invariant.reads.iter().any(|read| read.object == object) {
                invariant.is_due = true;
                self.are_due = true;
            }
        }
        if self.are_due {
            self.changed.push(object);
        }
    }
}
