//! From durations to the engine's deadlines. `Instant` and `SystemTime` stay
//! `std`'s: the clock below them is virtual.

use std::time::Duration;

use crate::execution;

/// The moment `timeout` from now, in nanoseconds of [`execution::now`]; the end
/// of time where it is beyond.
pub(super) fn deadline(timeout: Duration) -> u64 {
    let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    execution::now().saturating_add(nanos)
}
