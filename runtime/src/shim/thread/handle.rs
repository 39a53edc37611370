//! `JoinHandle`.

use std::fmt;
use std::panic::Location;
use std::thread::Result;

use super::Thread;
use super::packet::Spawned;
use crate::execution;
use crate::platform::observers::{observes_ends, observes_finishes};

/// See [`std::thread::JoinHandle`].
// In this order, since handles are moved in pieces around the first word of a `Thread`, and
// one that has just been written in two pieces takes long to be read.
#[repr(C)]
pub struct JoinHandle<T> {
    kind: Kind<T>,
    thread: Thread,
}

enum Kind<T> {
    Real(std::thread::JoinHandle<T>),
    Task(Spawned<T>),
}

// SAFETY: as the real handle: `T` was `Send` when the thread was spawned, and
// the handle gives it out only by value, once.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above; a shared handle gives no `T`.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn of_real(real: std::thread::JoinHandle<T>) -> Self {
        let thread = Thread::of_real(real.thread().clone());
        JoinHandle {
            thread,
            kind: Kind::Real(real),
        }
    }

    pub(super) fn of_task(spawned: Spawned<T>) -> Self {
        JoinHandle {
            thread: Thread::of_task(spawned.task),
            kind: Kind::Task(spawned),
        }
    }

    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.kind {
            Kind::Real(real) => real.join(),
            Kind::Task(spawned) => spawned.join(Location::caller()),
        }
    }

    #[track_caller]
    pub fn is_finished(&self) -> bool {
        observes_finishes();
        match &self.kind {
            Kind::Real(real) => real.is_finished(),
            Kind::Task(spawned) => spawned.is_finished(Location::caller()),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

#[cfg(unix)]
impl<T> std::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> std::os::unix::thread::RawPthread {
        observes_ends();
        match &self.kind {
            Kind::Real(real) => real.as_pthread_t(),
            Kind::Task(spawned) => execution::pthread_of(spawned.task) as _,
        }
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        observes_ends();
        match self.kind {
            Kind::Real(real) => real.into_pthread_t(),
            Kind::Task(spawned) => execution::pthread_of(spawned.task) as _,
        }
    }
}
