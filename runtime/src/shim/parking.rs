//! Thread parking for the overlay of `parking_lot_core`, and announcements of the locks of
//! `parking_lot`.
//!
//! Inside an execution a parked thread is a blocked task. Outside, the real std parks the thread.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::Instant;

use super::time::deadline;
use crate::execution::{self, Mode, Op, Site, Wake};
use crate::monitor::race;

/// The parking state of one thread.
pub struct Parker {
    parked: AtomicBool,
    /// The thread that called [`Self::prepare`] outside an execution. [`Unpark::wake`] wakes this
    /// thread.
    thread: Mutex<Option<Thread>>,
}

/// A handle that wakes a parked thread. The [`Parker`] may be dropped before the handle.
pub struct Unpark {
    parker: usize,
    thread: Option<Thread>,
}

impl Parker {
    #[must_use]
    pub const fn new() -> Self {
        Self {
            parked: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }

    /// Prepares the calling thread for parking.
    pub fn prepare(&self) {
        if !execution::active() {
            let own = std::thread::current();
            *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        }
        self.parked.store(true, Ordering::Relaxed);
    }

    /// Whether no thread has called [`Self::unpark`] since the call of [`Self::prepare`].
    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// Waits until another thread has called [`Self::unpark`].
    #[track_caller]
    pub fn park(&self) {
        let site = Location::caller();
        while self.parked.load(Ordering::Acquire) {
            if execution::active() {
                self.block(None, site);
            } else {
                std::thread::park();
            }
        }
        race::acquire(self.address());
    }

    /// Waits until another thread has called [`Self::unpark`], or until `timeout`. Returns `false`
    /// if the time has passed before a call of [`Self::unpark`].
    #[track_caller]
    pub fn park_until(&self, timeout: Instant) -> bool {
        let site = Location::caller();
        while self.parked.load(Ordering::Acquire) {
            let left = timeout.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if !execution::active() {
                std::thread::park_timeout(left);
                continue;
            }
            let deadline = deadline(left);
            // The reads of the clock may be scheduling points, at which another task can unpark
            // this one. No other task runs between this check and the wait.
            if self.parked.load(Ordering::Acquire)
                && self.block(deadline, site) == Wake::TimedOut
                && self.parked.load(Ordering::Acquire)
            {
                return false;
            }
        }
        race::acquire(self.address());
        true
    }

    fn block(&self, deadline: Option<u64>, site: Site) -> Wake {
        let (op, key) = WAITS.get();
        execution::park_at(self.address(), op, key, deadline, called_from(site))
    }

    /// Marks the waiting thread as unparked, but does not wake it yet: [`Unpark::wake`] of the
    /// result does.
    pub fn unpark(&self) -> Unpark {
        let thread = if execution::active() {
            None
        } else {
            let thread = self.thread.lock();
            thread.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let parker = self.address();
        race::release(parker, Op::Unparks, None);
        // This is the last access to `self`: the thread may end as soon as it sees the new value.
        self.parked.store(false, Ordering::Release);
        Unpark { parker, thread }
    }

    fn address(&self) -> usize {
        (&raw const *self).addr()
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Unpark {
    /// Wakes the thread.
    #[track_caller]
    pub fn wake(self) {
        if execution::active() {
            execution::unpark_at(self.parker, Location::caller());
        } else if let Some(thread) = self.thread {
            thread.unpark();
        }
    }
}

/// A mutex without a guard and without data.
pub struct Lock(AtomicBool);

impl Lock {
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[track_caller]
    pub fn lock(&self) {
        if execution::active() {
            let (object, mode) = (self.address(), Mode::Exclusive);
            execution::acquire(Op::MutexLock, object, mode, Location::caller());
        }
        while self.0.swap(true, Ordering::Acquire) {
            // Only threads outside an execution get here. The lock is held for a few instructions
            // at most.
            std::thread::yield_now();
        }
    }

    /// Releases the lock, which the caller holds.
    pub fn unlock(&self) {
        let unlock = || self.0.store(false, Ordering::Release);
        if execution::active() {
            execution::release(Op::MutexUnlock, self.address(), Mode::Exclusive, unlock);
        } else {
            unlock();
        }
    }

    fn address(&self) -> usize {
        (&raw const *self).addr()
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

thread_local! {
    /// The operation in which the thread parks if it has to wait, and the address that identifies
    /// the awaited object.
    static WAITS: Cell<(Op, usize)> = const { Cell::new((Op::Parked, 0)) };
}

/// A guard that changes the operation in which the calling thread parks if it has to wait, or the
/// address of the object for which it waits. The field has the previous operation and address. The
/// drop of the guard restores them.
#[must_use]
pub struct Waits((Op, usize));

macro_rules! reasons {
    ($($name:ident = $op:ident;)*) => {
        impl Waits {
            $(
                pub fn $name() -> Self {
                    Self::r#in(Op::$op)
                }
            )*
        }
    };
}

reasons! {
    mutex = MutexLock;
    read = RwLockRead;
    upgradable_read = RwLockUpgradableRead;
    upgrade = RwLockUpgrade;
    write = RwLockWrite;
    condvar = CondvarWait;
    once = OnceCall;
}

impl Waits {
    fn r#in(op: Op) -> Self {
        let (_, key) = WAITS.get();
        Self(WAITS.replace((op, key)))
    }

    /// Sets the address that identifies the awaited object, until the result is dropped.
    pub fn on(key: usize) -> Self {
        let (op, _) = WAITS.get();
        let key = match op {
            // A writer that waits for the last reader parks at the address of the lock plus 1.
            Op::RwLockWrite | Op::RwLockUpgrade => key & !1,
            _ => key,
        };
        Self(WAITS.replace((op, key)))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        WAITS.set(self.0);
    }
}

/// Records, for deadlock reports, that the calling thread holds the lock at `key`.
#[inline]
#[track_caller]
pub fn acquired(key: usize) {
    if execution::active() {
        execution::own(key, called_from(Location::caller()));
    }
}

/// Records that the calling thread no longer holds the lock at `key`.
#[inline]
pub fn released(key: usize) {
    if execution::active() {
        execution::disown(key);
    }
}

/// The line in `preempt` code that led to `site`; `site` itself if no such line is known.
fn called_from(site: Site) -> Site {
    execution::marked_line().unwrap_or(site)
}
