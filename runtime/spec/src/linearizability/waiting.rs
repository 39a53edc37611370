//! The wait for calls that may never return.

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

use crate::plain;

/// The time after which a call that makes no progress counts as one that does not return, in a plain
/// run: the first look, and the second one before a failure is reported.
pub(super) const PATIENCE: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(2)];

/// The time between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// Waits until no other thread can run. In a plain run, waits until `progress` says that all calls
/// have returned, or until its number has not changed for the time `patience`.
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
