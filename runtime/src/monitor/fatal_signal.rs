//! The death of the process that runs an execution, by a fatal signal or by an exit.
//!
//! Reports call this failure a crash. The test process is an ancestor of this process. If the test
//! process itself dies, only the tool can report this: see
//! `cargo-chess/src/supervise/exit_status.rs`. This monitor and that file use the same descriptions
//! of signals, from the vocabulary crate. For crashes that a test simulates, see
//! `execution/crash.rs`.

use std::fmt::Write;

use chess_vocabulary::{Kind, signal_in_words};

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
        let mut text = format!("the test was killed by {}", signal_in_words(signal));
        if let Some(address) = death.fault.filter(|_| signal == sys::SIGSEGV) {
            if death.overflows {
                let task = death.execution.schedule.current.0;
                text = format!("task {task} overflowed its stack");
            } else {
                let _ = write!(text, " at address {address:#x}");
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
