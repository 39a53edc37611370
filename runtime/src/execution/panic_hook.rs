//! The lock of std around the panic hook. A task that panics holds it, shared, while the hook runs.
//!
//! The hook may lock and wait like any other code. Therefore the lock takes part in deadlocks. A
//! panic runs the hook that the newest change has installed, so the order of panics and changes
//! matters.

use super::running::running;
use super::state::Execution;
use super::terms::{Mode, Step};
use super::{Effect, Op};

use core::panic::Location;

/// The address that stands for the hook: no object of the program lies there.
const HOOK: usize = 24;

/// Whether the object at `address` is the panic hook.
pub(crate) fn is_panic_hook(address: usize) -> bool {
    address == HOOK
}

impl Execution {
    /// Records that the current task, which panics, acquires, releases or only reads the lock of
    /// the panic hook. `effect` states which of these.
    ///
    /// This is no scheduling point: std has already acquired the real lock, or is about to release
    /// it.
    fn panics(&mut self, effect: Effect) -> Step {
        let object = self.object(HOOK);
        match effect {
            Effect::Enter => {
                let site = self.running().site;
                self.hold(object, Mode::Shared, site);
            }
            Effect::Leave => self.drop_lock(object, Mode::Shared),
            _ => {}
        }
        self.touch(object, effect)
    }
}

/// Changes the panic hook by a call of `change`. There is a scheduling point before that, which the
/// task passes only when no task runs the hook.
#[track_caller]
pub fn change_hook<R>(op: Op, change: impl FnOnce() -> R) -> R {
    /// Releases the lock, also if `change` panics.
    struct Held;

    impl Drop for Held {
        fn drop(&mut self) {
            let Some(execution) = running() else { return };
            execution.step(|it| {
                let object = it.object(HOOK);
                it.drop_lock(object, Mode::Exclusive);
                it.touch(object, Effect::Release)
            });
        }
    }

    let site = Location::caller();
    let held = running().map(|_| {
        super::acquire(op, HOOK, Mode::Exclusive, site);
        Held
    });
    let result = change();
    drop(held);
    result
}

/// Runs a hook of the program, for a panic of the current task.
pub(crate) fn run_hook(hook: impl FnOnce()) {
    note_panic(Effect::Enter);
    hook();
    note_panic(Effect::Leave);
}

/// Records that the current task panics and runs no hook of the program.
pub(crate) fn pass_hook() {
    note_panic(Effect::Read);
}

fn note_panic(effect: Effect) {
    if let Some(execution) = running() {
        execution.step(|it| it.panics(effect));
    }
}
