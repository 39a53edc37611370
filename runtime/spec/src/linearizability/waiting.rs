//! The wait for calls that may never return.

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

use crate::plain;

/// In a plain run, the time without progress after which a call counts as one that does not
/// return. The first time is for the first check of a history. The second is for the repeated
/// check before a failure is reported.
pub(super) const PATIENCE: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(2)];

/// The time between two calls of `progress`.
const PAUSE: Duration = Duration::from_micros(100);

/// Waits until no other thread can run and no timer is pending. In a plain run, calls `progress`
/// repeatedly instead.
/// `progress` returns a number that changes when the calls make progress, and whether all calls
/// have returned. The wait ends when all calls have returned, or when the number has not changed
/// for the time `patience`.
#[track_caller]
pub(super) fn until_idle(patience: Duration, progress: &dyn Fn() -> (usize, bool)) {
    if plain::until_idle(Location::caller()) {
        return;
    }
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let (number, is_done) = progress();
        if is_done {
            return;
        }
        if last != Some(number) {
            last = Some(number);
            since = Instant::now();
        } else if since.elapsed() >= patience {
            return;
        }
        thread::sleep(PAUSE);
    }
}
