//! Signals that were sent to this process, and whose handler has not run yet.
//!
//! The kernel delivers a signal to the main thread if that thread does not block it. The main
//! thread of an explorer waits for ever, so it needs a processor before it can run the handler.

use super::proc;
use crate::base::sys::{self, number};

/// Whether one of `signals` (a set of bits) is still to be delivered to the main thread, or whether
/// that thread may run a handler now.
pub(crate) fn are_in_flight(signals: u64) -> bool {
    // SAFETY: no arguments, no effect.
    let process = unsafe { sys::syscall(number::GETPID, [0; 6]) };
    let is_main = process == sys::kernel_thread_id() as isize;
    let (mut pending, mut blocked, mut runs) = (0, 0, false);
    // The file has the state of the main thread, and the signals that are pending for it and for
    // the process.
    proc::for_each_line(b"/proc/self/status\0", |line| {
        if let Some(state) = line.strip_prefix(b"State:\t") {
            runs = state.starts_with(b"R");
        } else if let Some(set) = line
            .strip_prefix(b"SigPnd:\t")
            .or_else(|| line.strip_prefix(b"ShdPnd:\t"))
        {
            pending |= parse_set(set);
        } else if let Some(set) = line.strip_prefix(b"SigBlk:\t") {
            blocked = parse_set(set);
        }
    });
    pending & signals & !blocked != 0 || runs && !is_main
}

fn parse_set(digits: &[u8]) -> u64 {
    let digits = str::from_utf8(digits).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_is_in_flight_while_the_main_thread_waits() {
        const SIGUSR1: u64 = 1 << 9;
        assert_eq!(parse_set(b"0000000000000200"), SIGUSR1);
        assert!((0..10_000).any(|_| !are_in_flight(SIGUSR1)));
    }
}
