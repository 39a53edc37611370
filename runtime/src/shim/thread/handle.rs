//! `JoinHandle`.

use std::fmt;
use std::panic::Location;
use std::thread::Result;

use super::Thread;
use super::packet::{Joining, RealHandle};
use crate::execution;
use crate::platform::observers::{observes_ends, observes_finishes};

/// See [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(pub(super) Joining<std::thread::JoinHandle<T>, T>);

// SAFETY: as for the real handle: `T` was `Send` when the thread was spawned, and the handle
// returns it only by value, once.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above; a shared handle gives no access to the `T`.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join(Location::caller())
    }

    #[track_caller]
    pub fn is_finished(&self) -> bool {
        observes_finishes();
        self.0.is_finished(Location::caller())
    }
}

impl<T> RealHandle<T> for std::thread::JoinHandle<T> {
    fn thread(&self) -> &std::thread::Thread {
        self.thread()
    }

    fn join(self) -> Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
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
        match self.0.real() {
            Ok(real) => real.as_pthread_t(),
            Err(task) => execution::pthread_of(task) as _,
        }
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        observes_ends();
        match self.0.real() {
            Ok(_) => {
                let real = self.0.into_real().expect("it is no task");
                real.into_pthread_t()
            }
            Err(task) => execution::pthread_of(task) as _,
        }
    }
}
