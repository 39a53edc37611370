//! Fatal signals: the death of the process that ran the test, by a signal or by an exit.
//!
//! The failure is a crash in reports. The crash that a test simulates is `execution/crash.rs`.

use core::ffi::c_int;
use std::fmt::Write;

use chess_vocabulary::Kind;

use super::{Death, Failure, Monitor};
use crate::base::sys;
use crate::execution::Panic;

/// Judges the deaths of processes.
pub(crate) struct Crash {
    last_panic: Option<Panic>,
}

impl Crash {
    pub(super) const fn new() -> Self {
        Self { last_panic: None }
    }
}

impl Monitor for Crash {
    #[inline]
    fn begin(&mut self) {
        self.last_panic = None;
    }

    fn panicked(&mut self, panic: &Panic) {
        self.last_panic = Some(panic.clone());
    }

    fn died(&mut self, death: &Death<'_>) -> Option<Failure> {
        let signal = death.status & 0x7f;
        if signal == 0 {
            let code = death.status >> 8 & 0xff;
            let text = format!("the test ended the process with exit code {code}");
            return Some(Failure::new(Kind::Crash, &text));
        }
        let mut text = format!("the test died by {}", signal_name(signal));
        if let Some(address) = death.fault.filter(|_| signal == sys::SIGSEGV) {
            if death.overflows {
                let task = death.execution.schedule.current.0;
                text = format!("task {task} overflowed its stack");
            } else {
                let _ = write!(text, ", accessing address {address:#x}");
            }
        }
        let mut failure = Failure::new(Kind::Crash, &text);
        if let Some(panic) = self.last_panic.as_ref().filter(|_| signal == sys::SIGABRT) {
            let message = String::from_utf8_lossy(&panic.message);
            let said = format!(", after a panic: {message}");
            failure.message.extend_from_slice(said.as_bytes());
            failure.place = Some(panic.place.clone());
        }
        Some(failure)
    }
}

fn signal_name(signal: c_int) -> String {
    match signal {
        4 => "SIGILL (an illegal instruction)".to_owned(),
        5 => "SIGTRAP".to_owned(),
        sys::SIGABRT => "SIGABRT (abort)".to_owned(),
        sys::SIGBUS => "SIGBUS".to_owned(),
        8 => "SIGFPE".to_owned(),
        sys::SIGKILL => "SIGKILL".to_owned(),
        sys::SIGSEGV => "SIGSEGV (an invalid memory access)".to_owned(),
        14 => "SIGALRM (an alarm that nothing handles)".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::signal_name;

    #[test]
    fn signals_that_end_tests_have_their_names() {
        let names = [4, 5, 6, 7, 8, 9, 11, 14, 15].map(signal_name);
        let words = names.each_ref().map(|name| name.split(' ').next());
        let known = [
            "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGALRM",
            "SIGTERM",
        ];
        assert_eq!(words, known.map(Some));
        assert_eq!(signal_name(64), "signal 64");
    }
}
