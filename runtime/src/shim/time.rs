//! Deadlines of the engine, from durations. `Instant` and `SystemTime` are those of `std`: their
//! clock is virtual.

use std::time::Duration;

use crate::execution;

/// Returns the time at which `timeout` will have passed, in nanoseconds of the clock
/// [`execution::now`]. Returns `None` if the clock cannot have that time: the wait has no end. The
/// functions of std, too, wait without a time limit if `Instant` cannot have the time.
pub(super) fn deadline(timeout: Duration) -> Option<u64> {
    after(execution::now(), timeout)
}

fn after(now: u64, timeout: Duration) -> Option<u64> {
    let nanos = u64::try_from(timeout.as_nanos()).ok()?;
    now.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::after;

    #[test]
    fn a_time_that_the_clock_cannot_have_is_no_deadline() {
        assert_eq!(after(5, Duration::from_nanos(7)), Some(12));
        assert_eq!(after(5, Duration::from_nanos(u64::MAX - 5)), Some(u64::MAX));
        assert_eq!(after(5, Duration::from_nanos(u64::MAX - 4)), None);
        assert_eq!(after(0, Duration::from_secs(u64::MAX / 2)), None);
        assert_eq!(after(0, Duration::MAX), None);
    }
}
