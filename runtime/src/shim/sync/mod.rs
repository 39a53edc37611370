//! `std::sync`.

pub mod atomic;
pub mod mpsc;

mod arc;
mod barrier;
mod condvar;
mod initialise;
mod lazy_lock;
mod lock;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use std::sync::*;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated, reason = "std still exports it")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
