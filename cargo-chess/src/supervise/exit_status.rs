//! The exit status of a test process that ended without a verdict, as text. `test_process.rs` makes
//! the outcome of the test from it. If only an execution within the process dies, the test has a
//! failure: see `runtime/src/monitor/fatal_signal.rs`.

use std::process::ExitStatus;

/// The way in which the process ended, as the predicate of a sentence about the process.
pub(super) fn in_words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => match signal(status) {
            Some(signal) => format!("was killed by {}", signal_in_words(signal)),
            None => "ended in an unknown way".to_owned(),
        },
    }
}

/// The signal that killed the process, if one did.
pub(super) fn signal(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    {
        std::os::unix::process::ExitStatusExt::signal(&status)
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        None
    }
}

/// The remedy for an end of this kind, as the rest of a sentence.
pub(super) fn remedy(status: ExitStatus) -> &'static str {
    match signal(status) {
        Some(9) => ": check the memory limit, or use fewer --jobs",
        _ => "",
    }
}

/// A description of a signal. It is that of the vocabulary, except for SIGSEGV: no monitor has
/// checked whether the signal was caused by a stack overflow.
fn signal_in_words(signal: i32) -> String {
    match signal {
        11 => "SIGSEGV (an invalid memory access, or a stack overflow)".to_owned(),
        _ => chess_vocabulary::signal_in_words(signal),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_signal_is_named_and_explained() {
        let words = |raw| in_words(ExitStatus::from_raw(raw));
        assert_eq!(
            words(11),
            "was killed by SIGSEGV (an invalid memory access, or a stack overflow)"
        );
        assert_eq!(words(6), "was killed by SIGABRT (abort)");
        assert_eq!(words(42), "was killed by signal 42");
        // The status of a stopped process, which a wait never returns here.
        assert_eq!(words(0x137f), "ended in an unknown way");
        assert_eq!(words(3 << 8), "exited with code 3");
    }
}
