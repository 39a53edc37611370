//! What `Mutex` and `RwLock` share: taking the real lock once the engine has given it.

use std::mem::ManuallyDrop;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::execution::{self, Mode, Op, Site};

/// The same result about another guard.
#[inline]
pub(super) fn map<A, B>(result: LockResult<A>, change: impl FnOnce(A) -> B) -> LockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(poisoned) => Err(PoisonError::new(change(poisoned.into_inner()))),
    }
}

/// The same result about another guard.
#[inline]
pub(super) fn map_try<A, B>(
    result: TryLockResult<A>,
    change: impl FnOnce(A) -> B,
) -> TryLockResult<B> {
    match result {
        Ok(guard) => Ok(change(guard)),
        Err(TryLockError::Poisoned(poisoned)) => {
            Err(PoisonError::new(change(poisoned.into_inner())).into())
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

/// Takes the lock at `object` from the engine, then the real one by `attempt`.
#[inline]
pub(super) fn take<G>(
    op: Op,
    object: usize,
    mode: Mode,
    site: Site,
    attempt: impl Fn() -> TryLockResult<G>,
) -> LockResult<G> {
    execution::acquire(op, object, mode, site);
    loop {
        match attempt() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
            // A thread that is no task holds it, or a guard was leaked.
            Err(TryLockError::WouldBlock) => {
                execution::wait(op, object, None, site);
            }
        }
    }
}

/// Asks the engine for the lock at `object`, then takes the real one by `attempt`.
#[inline]
pub(super) fn try_take<G>(
    op: Op,
    object: usize,
    mode: Mode,
    site: Site,
    attempt: impl FnOnce() -> TryLockResult<G>,
) -> TryLockResult<G> {
    if !execution::try_acquire(op, object, mode, site) {
        return Err(TryLockError::WouldBlock);
    }
    let result = attempt();
    if let Err(TryLockError::WouldBlock) = result {
        // As in `take`.
        execution::release(op, object, mode, || {});
    }
    result
}

/// Releases the real lock by the drop of its guard, and the engine's.
///
/// # Safety
/// `guard` must not be used again.
#[inline]
pub(super) unsafe fn give_back<G>(op: Op, object: usize, mode: Mode, guard: &mut ManuallyDrop<G>) {
    // SAFETY: once, and the caller does not use it again.
    let mut unlock = || unsafe { ManuallyDrop::drop(guard) };
    if execution::active() {
        execution::release(op, object, mode, unlock);
    } else {
        unlock();
    }
}
