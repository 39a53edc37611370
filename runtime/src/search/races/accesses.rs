//! What the steps of a trace did to each object.

use super::NOTHING;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Effect, ObjectId, Touch};

/// An access to an object.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// The newest step of this task and these effects since the last exclusive access.
    pub(super) step: u32,
    /// The oldest one.
    pub(super) oldest: u32,
    pub(super) task: u32,
    pub(super) effect: Effect,
    /// Which effect it could have had, had others done something else before.
    pub(super) could: Effect,
    /// The access before it.
    pub(super) next: u32,
    object: u32,
}

/// Whether nothing before such an access matters to most that come later.
#[inline]
pub(super) fn is_exclusive(effect: Effect) -> bool {
    matches!(effect, Effect::Rewrite | Effect::Write | Effect::Acquire)
}

/// An access became that of a newer step.
#[derive(Clone, Copy)]
struct Renewal {
    access: u32,
    before: u32,
}

/// The accesses to all objects: of each one a list, newest first. Of those between two
/// exclusive ones it has the first of each task and effects, which is renewed by the others.
pub(super) struct Accesses {
    all: EngineVec<Access>,
    renewals: EngineVec<Renewal>,
    /// Each object's newest one.
    newest: EngineVec<u32>,
}

impl Access {
    /// Whether a task's step that touches something so is one more such access.
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

    /// The object's newest one.
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

    /// The first exclusive one from `access` on.
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

    /// A step of a task touches an object.
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

    /// A step touches an object in the same way as its task did in `access`.
    #[inline]
    pub(super) fn renew(&mut self, access: u32, step: u32) {
        let before = core::mem::replace(&mut self.all[access as usize].step, step);
        self.renewals.push(Renewal { access, before });
    }

    /// Takes back what was done from `step` on.
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
