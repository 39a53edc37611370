//! Signals from outside the process that wait for the task that handles them.
//!
//! The kernel delivers such a signal at any moment, on any thread, also while the engine runs. So
//! the handler that the kernel calls only records the arrival. When the engine waits for events
//! outside the process, it checks for arrivals, and enables the task that handles the signals.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::base::sys::{self, number};
use crate::platform::descriptor::{self, POLLIN, PollEntry};

/// The address of the arrivals in the side table. No other object lies there.
pub(crate) const ARRIVALS: usize = 56;

/// The arrivals of one execution. Handlers on other threads use them at the same time.
pub(crate) struct Arrivals {
    /// The signals whose information is being stored, or is stored.
    claimed: AtomicU64,
    /// The signals whose information is stored.
    stored: AtomicU64,
    /// The stored signals that a task may take. The other stored signals are granted when no task
    /// can run, or when the only enabled task yields.
    granted: AtomicU64,
    /// The signals whose arrivals are recorded.
    caught: AtomicU64,
    /// The number of threads that run the handler now.
    running: AtomicU32,
    /// An event counter that ends the engine's wait in the kernel; negative if the execution
    /// receives no signals.
    event: AtomicI32,
}

impl Arrivals {
    pub(super) const fn new() -> Self {
        Self {
            claimed: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            granted: AtomicU64::new(0),
            caught: AtomicU64::new(0),
            running: AtomicU32::new(0),
            event: AtomicI32::new(-1),
        }
    }

    /// Begins to receive signals. Returns `false` if the process may open no further descriptor.
    pub(crate) fn open(&self) -> bool {
        const CLOSE_ON_EXEC_NONBLOCKING: usize = 0o2_004_000;
        let arguments = [0, CLOSE_ON_EXEC_NONBLOCKING, 0, 0, 0, 0];
        // SAFETY: no memory is passed.
        let event = unsafe { sys::syscall(number::EVENTFD2, arguments) };
        if event < 0 {
            return false;
        }
        let event = descriptor::move_up(event as i32);
        self.event.store(event, Ordering::Relaxed);
        true
    }

    /// Stops receiving signals, and forgets all arrivals. The caller has removed the handlers.
    pub(crate) fn close(&self) {
        let event = self.event.swap(-1, Ordering::SeqCst);
        // A handler that has begun on another thread may still use the event counter.
        while self.running.load(Ordering::SeqCst) > 0 {
            sys::nap();
        }
        if event >= 0 {
            descriptor::close(event);
        }
        self.claimed.store(0, Ordering::Relaxed);
        self.stored.store(0, Ordering::Relaxed);
        self.granted.store(0, Ordering::Relaxed);
        self.caught.store(0, Ordering::Relaxed);
    }

    /// States whether arrivals of the signal with the bit `bit` are recorded from now on.
    pub(crate) fn catch(&self, bit: u64, is_caught: bool) {
        if is_caught {
            self.caught.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.caught.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// The bits of the signals whose arrivals are recorded.
    pub(super) fn caught(&self) -> u64 {
        self.caught.load(Ordering::Relaxed)
    }

    /// Records the arrival of the signal with the bit `bit`, whose information `store` stores. For
    /// the handler that the kernel calls. A signal that arrives again before a task has taken it
    /// counts once.
    pub(crate) fn add(&self, bit: u64, store: impl FnOnce()) {
        self.running.fetch_add(1, Ordering::SeqCst);
        let event = self.event.load(Ordering::SeqCst);
        if event >= 0 && self.claimed.fetch_or(bit, Ordering::Acquire) & bit == 0 {
            store();
            self.stored.fetch_or(bit, Ordering::Release);
            let one = 1u64;
            let at = &raw const one as usize;
            // SAFETY: eight readable bytes.
            unsafe { sys::syscall(number::WRITE, [event as usize, at, 8, 0, 0, 0]) };
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    /// Removes one granted signal, and calls `load` with its number to load its information.
    /// Returns `None` if no such signal is left.
    pub(crate) fn take<T>(&self, load: impl FnOnce(u32) -> T) -> Option<T> {
        let signal = self.granted.load(Ordering::Relaxed).trailing_zeros();
        if signal == u64::BITS {
            return None;
        }
        let loaded = load(signal + 1);
        self.granted.fetch_and(!(1 << signal), Ordering::Relaxed);
        self.stored.fetch_and(!(1 << signal), Ordering::Relaxed);
        self.claimed.fetch_and(!(1 << signal), Ordering::Release);
        Some(loaded)
    }

    /// Allows tasks to take the signals that have arrived so far, if `is_wanted` returns `true` for
    /// the signal.
    pub(crate) fn grant(&self, is_wanted: impl Fn(u32) -> bool) {
        let mut count = 0u64;
        let (event, at) = (self.event.load(Ordering::Relaxed), &raw mut count as usize);
        // SAFETY: eight writable bytes.
        unsafe { sys::syscall(number::READ, [event as usize, at, 8, 0, 0, 0]) };
        let stored = self.stored.load(Ordering::Acquire);
        for signal in 0..u64::BITS {
            if stored >> signal & 1 != 0 && is_wanted(signal + 1) {
                self.granted.fetch_or(1 << signal, Ordering::Relaxed);
            }
        }
    }

    /// Whether a signal has arrived that is not granted yet.
    #[inline]
    pub(super) fn are_there(&self) -> bool {
        let stored = self.stored.load(Ordering::Acquire);
        stored != 0 && stored & !self.granted.load(Ordering::Relaxed) != 0
    }

    /// Whether the execution receives signals.
    pub(super) fn are_open(&self) -> bool {
        self.event.load(Ordering::Relaxed) >= 0
    }

    /// The entry for a wait in the kernel that ends when a signal arrives.
    pub(super) fn entry(&self) -> Option<PollEntry> {
        let event = self.event.load(Ordering::Relaxed);
        (event >= 0).then(|| PollEntry::new(event, POLLIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_counts_once_until_it_is_taken() {
        let arrivals = Arrivals::new();
        let mut stored = 0;
        arrivals.add(1 << 16, || unreachable!("no signals are received"));
        assert!(arrivals.open());
        for _ in 0..2 {
            arrivals.add(1 << 16, || stored += 1);
        }
        arrivals.add(1, || stored += 1);
        assert_eq!(stored, 2);
        assert!(arrivals.take(|_| ()).is_none() && arrivals.are_there());
        arrivals.grant(|signal| signal == 2);
        assert!(arrivals.take(|_| ()).is_none());
        arrivals.grant(|_| true);
        let taken: Vec<u32> = core::iter::from_fn(|| arrivals.take(|signal| signal)).collect();
        assert_eq!(taken, [1, 17]);
        assert!(!arrivals.are_there());
        arrivals.add(1 << 16, || stored += 1);
        assert!(stored == 3 && arrivals.are_there());
        arrivals.close();
        assert!(!arrivals.are_there() && arrivals.entry().is_none());
    }
}
