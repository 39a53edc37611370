//! Parking.

use std::panic::Location;
use std::time::Duration;

use crate::execution::{self, Op};
use crate::shim::time::deadline;

/// See [`std::thread::park`].
#[track_caller]
pub fn park() {
    if execution::active() {
        execution::park(Op::Park, None, Location::caller());
    } else {
        std::thread::park();
    }
}

/// See [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(dur: Duration) {
    if execution::active() {
        execution::park(Op::ParkTimeout, deadline(dur), Location::caller());
    } else {
        std::thread::park_timeout(dur);
    }
}

/// See [`std::thread::park_timeout_ms`].
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::park_timeout`")]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}
