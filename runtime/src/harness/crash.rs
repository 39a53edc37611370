//! The death of an exploring process, in words.

use core::ffi::c_int;
use std::fmt::Write;

use crate::engine::Engine;
use crate::execution::Fatal;
use crate::monitor::{Failure, Kind};
use crate::platform::sys;

/// A death as a failure.
pub(super) fn describe(engine: &Engine, status: c_int) -> Failure {
    let exploration = &engine.exploration;
    match exploration.fatal {
        Some(Fatal::DoubleFree) => {
            return Failure::new(Kind::DoubleFree, "a block of memory was freed twice");
        }
        Some(Fatal::InvalidFree) => {
            let text = "memory was freed that was never allocated";
            return Failure::new(Kind::Crash, text);
        }
        None => {}
    }
    let signal = status & 0x7f;
    if signal == 0 {
        let code = status >> 8 & 0xff;
        return Failure::new(
            Kind::Crash,
            &format!("the test ended the process with exit code {code}"),
        );
    }
    let mut text = format!("the test died by {}", signal_name(signal));
    if signal == sys::SIGSEGV
        && let Some(address) = exploration.fault
    {
        if engine.pool.overflowed(address).is_some() {
            let task = engine.execution.current.0;
            text = format!("task {task} overflowed its stack");
        } else {
            let _ = write!(text, ", accessing address {address:#x}");
        }
    }
    let mut failure = Failure::new(Kind::Crash, &text);
    if signal == sys::SIGABRT
        && let Some(panic) = engine.execution.panics.last()
    {
        let said = format!(
            ", after a panic: {}",
            String::from_utf8_lossy(&panic.message)
        );
        failure.message.extend_from_slice(said.as_bytes());
        failure.place = Some(panic.place.clone());
    }
    failure
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
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}
