//! The common part of `Once`, `OnceLock` and `LazyLock`: one task initialises, other tasks wait.
//!
//! The real object is used only if it cannot block (except in `Once::wait`). The engine records the
//! task that initialises ([`execution::own`]). So a task that arrives during the initialisation waits
//! in the engine, and the report of a deadlock names the initialising task.

use crate::execution::{self, Effect, Op, Site};
use crate::monitor::race;

/// The number by which the engine identifies the initialisation of the object at `place`. This
/// number is not the address of the object, because the value inside may have the same address.
/// For instance, this address may identify a lock inside a `OnceLock`.
#[inline]
pub(super) fn object<T>(place: &T) -> usize {
    const NO_ADDRESS: usize = 1 << (usize::BITS - 1);
    (&raw const *place).addr() | NO_ADDRESS
}

/// Reaches a scheduling point, and then waits while another task initialises `object`. Returns
/// whether the initialisation is `done`. If it is not, the caller may initialise `object` now.
pub(super) fn arrive(op: Op, object: usize, site: Site, done: impl Fn() -> bool) -> bool {
    execution::before(op, object, site);
    while !done() && execution::is_owned(object) {
        execution::failed_attempt(object);
        execution::wait_quietly(op, object, None, site);
    }
    let done = done();
    let effect = if done { Effect::Read } else { op.effect() };
    execution::effect(op, object, effect, site);
    done
}

/// Reaches a scheduling point, and then waits until the initialisation of `object` is `done`.
pub(super) fn wait_until(op: Op, object: usize, site: Site, done: impl Fn() -> bool) {
    execution::before(op, object, site);
    while !done() {
        execution::failed_attempt(object);
        execution::wait_quietly(op, object, None, site);
    }
    execution::effect(op, object, Effect::Read, site);
}

/// A guard: the running task initialises `object` until the guard is dropped. The drop wakes the
/// waiting tasks. The call of the real object must end before the drop, so that the real object is
/// complete or poisoned.
pub(super) struct Initialising {
    object: usize,
}

impl Initialising {
    pub(super) fn begin(object: usize, site: Site) -> Initialising {
        execution::own(object, site);
        Initialising { object }
    }
}

impl Drop for Initialising {
    fn drop(&mut self) {
        // This happens also if the initialiser panicked.
        race::release(self.object, Op::OnceComplete, None);
        execution::disown(self.object);
        execution::wake_all(self.object);
    }
}
