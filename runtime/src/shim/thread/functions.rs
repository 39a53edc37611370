//! Free functions: `spawn`, `sleep`, `yield_now`, `available_parallelism`.

use std::io;
use std::num::NonZero;
use std::panic::Location;
use std::time::Duration;

use super::{Builder, JoinHandle};
use crate::execution::{self, Op};
use crate::shim::time::deadline;

/// See [`std::thread::spawn`].
#[inline]
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: a `'static` value outlives every thread.
    let spawned = unsafe { Builder::new().launch(f) };
    spawned.expect("failed to spawn thread")
}

/// See [`std::thread::yield_now`].
#[track_caller]
pub fn yield_now() {
    if execution::active() {
        execution::yield_now(Op::YieldNow, Some(Location::caller()));
    } else {
        std::thread::yield_now();
    }
}

/// See [`std::thread::sleep`].
#[track_caller]
pub fn sleep(dur: Duration) {
    if execution::active() {
        execution::sleep(deadline(dur), Location::caller());
    } else {
        std::thread::sleep(dur);
    }
}

/// See [`std::thread::sleep_ms`].
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::sleep`")]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}

/// See [`std::thread::available_parallelism`]. Inside an execution the result is 2, so that pools
/// are small, and have the same size on every machine.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    const TWO: NonZero<usize> = NonZero::new(2).unwrap();
    if execution::active() {
        Ok(TWO)
    } else {
        std::thread::available_parallelism()
    }
}
