//! Deadlines of the engine, from durations. `Instant` and `SystemTime` are those of `std`: their
//! clock is virtual.

use std::time::Duration;

use crate::execution;

/// Returns the time at which `timeout` will have passed, in nanoseconds of the clock
/// [`execution::now`]. Returns `u64::MAX` if that time is later.
pub(super) fn deadline(timeout: Duration) -> u64 {
    let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    execution::now().saturating_add(nanos)
}
