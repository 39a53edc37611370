//! `Condvar`: inside an execution, the engine has the list of the waiting tasks. Outside, the real
//! condition variable has the waiting threads.

use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

use super::{MutexGuard, lock};
use crate::execution::{self, Op, Site, Wake};
use crate::shim::time::deadline;

/// See [`std::sync::Condvar`].
#[repr(transparent)]
pub struct Condvar(std::sync::Condvar);

/// See [`std::sync::WaitTimeoutResult`].
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    #[inline]
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if execution::active() {
            self.block(Op::CondvarWait, guard, None, Location::caller())
                .0
        } else {
            lock::map(self.0.wait(guard.into_real()), MutexGuard::of_real)
        }
    }

    #[inline]
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    #[inline]
    #[track_caller]
    #[deprecated(
        since = "1.6.0",
        note = "replaced by `std::sync::Condvar::wait_timeout`"
    )]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(u64::from(ms)));
        lock::map(result, |(guard, result)| (guard, !result.timed_out()))
    }

    #[inline]
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        if execution::active() {
            self.block_until(guard, deadline(dur), Location::caller())
        } else {
            lock::map(self.0.wait_timeout(guard.into_real(), dur), of_real)
        }
    }

    #[inline]
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        if !execution::active() {
            let real = guard.into_real();
            return lock::map(self.0.wait_timeout_while(real, dur, condition), of_real);
        }
        let (deadline, site) = (deadline(dur), Location::caller());
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if timed_out {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let result;
            (guard, result) = self.block_until(guard, deadline, site)?;
            timed_out = result.timed_out();
        }
    }

    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        if execution::active() {
            execution::notify(Op::NotifyOne, self.object(), false, Location::caller());
        } else {
            self.0.notify_one();
        }
    }

    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        if execution::active() {
            execution::notify(Op::NotifyAll, self.object(), true, Location::caller());
        } else {
            self.0.notify_all();
        }
    }

    #[inline]
    fn object(&self) -> usize {
        (&raw const *self).addr()
    }

    fn block_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<u64>,
        site: Site,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (guard, wake) = self.block(Op::CondvarWaitTimeout, guard, deadline, site);
        let result = WaitTimeoutResult(wake == Wake::TimedOut);
        match guard {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    fn block<'a, T>(
        &self,
        op: Op,
        guard: MutexGuard<'a, T>,
        deadline: Option<u64>,
        site: Site,
    ) -> (LockResult<MutexGuard<'a, T>>, Wake) {
        let (mutex, real) = (guard.mutex(), guard.into_real());
        let unlock = || mutex.unlock_to_wait(real);
        let wake =
            execution::condvar_wait(op, self.object(), mutex.object(), deadline, site, unlock);
        (mutex.take(Op::MutexRelock, site), wake)
    }
}

fn of_real<T>(
    (guard, result): (std::sync::MutexGuard<'_, T>, std::sync::WaitTimeoutResult),
) -> (MutexGuard<'_, T>, WaitTimeoutResult) {
    (
        MutexGuard::of_real(guard),
        WaitTimeoutResult(result.timed_out()),
    )
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
