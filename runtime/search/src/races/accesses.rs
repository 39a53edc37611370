//! The accesses of the steps of a trace to each object.

use super::NOTHING;
use crate::base::memory::{EngineVec, engine_vec};
use crate::{ObjectId, Touch};
use chess_vocabulary::Effect;

/// The accesses to an object by one task with one pair of effects, without an exclusive access
/// between them. An exclusive access has an entry of its own.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// The newest step with such an access.
    pub(super) step: u32,
    /// The oldest step with such an access.
    pub(super) oldest: u32,
    pub(super) task: u32,
    pub(super) effect: Effect,
    /// The effect that the access could have had if other steps had come before it.
    pub(super) could: Effect,
    /// The next entry in the object's list: an older access.
    pub(super) next: u32,
    object: u32,
}

/// Whether an access with this effect conflicts with most other accesses. Then most later accesses
/// are compared with this access, and not with those before it.
#[inline]
pub(super) fn is_exclusive(effect: Effect) -> bool {
    matches!(effect, Effect::Rewrite | Effect::Write | Effect::Acquire)
}

/// The step of an access before the access was [renewed](Accesses::renew).
#[derive(Clone, Copy)]
struct Renewal {
    access: u32,
    before: u32,
}

/// The accesses to all objects: a list for each object, newest first. Between two exclusive
/// accesses there is one entry for each task and pair of effects. A later access with the same
/// task and effects only updates the step of this entry.
pub(super) struct Accesses {
    all: EngineVec<Access>,
    renewals: EngineVec<Renewal>,
    /// The newest access to each object.
    newest: EngineVec<u32>,
}

impl Access {
    /// Whether a touch by `task` has the same task and effects as this access.
    #[inline]
    pub(super) fn is_like(&self, task: u32, touch: Touch) -> bool {
        (self.task, self.effect, self.could) == (task, touch.effect, touch.could)
    }
}

impl Accesses {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            renewals: engine_vec(),
            newest: engine_vec(),
        }
    }

    /// The newest access to the object, or [`NOTHING`].
    #[inline]
    pub(super) fn newest_of(&self, object: ObjectId) -> u32 {
        match self.newest.get(object.0 as usize) {
            Some(&newest) => newest,
            None => NOTHING,
        }
    }

    #[inline]
    pub(super) fn get(&self, access: u32) -> Option<&Access> {
        self.all.get(access as usize)
    }

    /// The first exclusive access from `access` on, in the order of the list.
    #[inline]
    pub(super) fn exclusive_from(&self, mut access: u32) -> Option<&Access> {
        loop {
            let it = self.get(access)?;
            if is_exclusive(it.effect) {
                return Some(it);
            }
            access = it.next;
        }
    }

    /// Adds an access by a step of a task.
    #[inline]
    pub(super) fn add(&mut self, step: u32, task: u32, touch: Touch) {
        let (number, object) = (self.all.len() as u32, touch.object.0);
        let next = match self.newest.get_mut(object as usize) {
            Some(newest) => core::mem::replace(newest, number),
            None => self.add_object(object, number),
        };
        self.all.push(Access {
            step,
            oldest: step,
            task,
            effect: touch.effect,
            could: touch.could,
            next,
            object,
        });
    }

    /// Moves `access` to `step`, a newer step of the same task.
    #[inline]
    pub(super) fn renew(&mut self, access: u32, step: u32) {
        let before = core::mem::replace(&mut self.all[access as usize].step, step);
        self.renewals.push(Renewal { access, before });
    }

    /// Removes the accesses of `step` and of all later steps.
    #[inline]
    pub(super) fn take_back(&mut self, step: u32) {
        while let Some(last) = self.renewals.last() {
            let access = &mut self.all[last.access as usize];
            if access.step < step {
                break;
            }
            access.step = last.before;
            self.renewals.pop();
        }
        let mut count = self.all.len();
        while let Some(last) = self.all[..count].last()
            && last.oldest >= step
        {
            self.newest[last.object as usize] = last.next;
            count -= 1;
        }
        self.all.truncate(count);
    }

    #[cold]
    fn add_object(&mut self, object: u32, newest: u32) -> u32 {
        self.newest.resize(object as usize + 1, NOTHING);
        core::mem::replace(&mut self.newest[object as usize], newest)
    }
}
