//! What `Once`, `OnceLock` and `LazyLock` share: one task initialises, others wait.
//!
//! The real object is asked only where it cannot block. That an initialiser is
//! running is known to the engine ([`execution::own`]), so a task that comes
//! meanwhile waits there, and a deadlock report names the initialiser.

use crate::execution::{self, Effect, Op, Site};
use crate::monitor::race;

/// The engine's name for what is initialised in `place`: no address, since the
/// value, a lock say, may begin where its `OnceLock` does.
#[inline]
pub(super) fn object<T>(place: &T) -> usize {
    const NO_ADDRESS: usize = 1 << (usize::BITS - 1);
    (&raw const *place).addr() | NO_ADDRESS
}

/// A scheduling point, then waits while another task initialises `object`.
/// Returns whether it is `done`; if not, the caller may initialise it now.
pub(super) fn arrive(op: Op, object: usize, site: Site, done: impl Fn() -> bool) -> bool {
    execution::before(op, object, site);
    while !done() && execution::is_owned(object) {
        execution::wait_in_vain(op, object, None, site);
    }
    let done = done();
    let effect = if done { Effect::Read } else { op.effect() };
    execution::effect(op, object, effect, site);
    done
}

/// A scheduling point, then waits until `object` is `done`, whoever makes it so.
pub(super) fn wait_until(op: Op, object: usize, site: Site, done: impl Fn() -> bool) {
    execution::before(op, object, site);
    while !done() {
        execution::wait_in_vain(op, object, None, site);
    }
    execution::effect(op, object, Effect::Read, site);
}

/// The running task initialises `object` as long as this lives. It must outlive
/// the call of the real object, which is complete or poisoned when others wake.
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
        // Also where the initialiser panicked.
        race::release(self.object, Op::OnceComplete, None);
        execution::disown(self.object);
        execution::wake_all(self.object);
    }
}
