//! The poison of a lock is an object of its own, beside the lock.
//!
//! The holder of a lock may clear its poison. As a write of the lock itself, this would
//! stand between the holder's acquisition and the next one: their race would not be seen.

use super::object::ObjectId;
use super::state::Execution;
use super::{Effect, Op, Site, access_with, running, touch};

/// No object of the program has an address with this bit.
const POISON: usize = 1 << 62;

/// The object that stands for the poison of the lock at `lock`.
const fn poison_of(lock: usize) -> usize {
    lock | POISON
}

/// The lock whose poison an object at `address` stands for.
fn lock_of_poison(address: usize) -> Option<usize> {
    (address >> POISON.trailing_zeros() == 1).then_some(address & !POISON)
}

impl Execution {
    /// The object by whose name reports call `object`: the lock, for its poison.
    pub(crate) fn shown_object(&self, object: ObjectId) -> ObjectId {
        let lock = lock_of_poison(self.objects.get(object).address);
        let lock = lock.and_then(|lock| self.objects.find(lock));
        lock.unwrap_or(object)
    }
}

/// A scheduling point, then `look` says whether the lock at `lock` is poisoned.
pub fn look_at_poison(lock: usize, site: Site, look: impl FnOnce() -> bool) -> bool {
    let act = || (look(), Effect::Read);
    access_with(Op::IsPoisoned, poison_of(lock), Some(site), act)
}

/// A scheduling point, then `clear` clears the poison of the lock at `lock`, and says
/// whether there was any.
pub fn clear_poison(lock: usize, site: Site, clear: impl FnOnce() -> bool) {
    let act = || {
        let effect = if clear() { Effect::Write } else { Effect::Read };
        ((), effect)
    };
    access_with(Op::ClearPoison, poison_of(lock), Some(site), act);
    if let Some(execution) = running() {
        // SAFETY: see `running`.
        unsafe { (*execution).clears_poison = true };
    }
}

/// The running step takes the lock at `lock`, and sees whether it is poisoned.
///
/// A lock that is not poisoned is so because no holder has poisoned it, which the order of
/// the lock says, or because its poison was cleared.
#[inline]
pub fn see_poison(lock: usize, is_poisoned: bool) {
    // SAFETY: see `running`.
    let clears = running().is_some_and(|execution| unsafe { (*execution).clears_poison });
    if is_poisoned || clears {
        touch(poison_of(lock), Effect::Read);
    }
}

/// The running step gives back the lock at `lock` while its task panics.
#[cold]
pub fn poison(lock: usize) {
    touch(poison_of(lock), Effect::Write);
}
