//! The end of a process, as text.

use std::process::ExitStatus;

/// How the process ended, as the predicate of a sentence about it.
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

/// The name and the meaning of a signal. Only the signals with the same numbers on every Unix have
/// names here.
fn signal_in_words(signal: i32) -> String {
    let (name, meaning) = match signal {
        2 => ("SIGINT", "interrupted"),
        3 => ("SIGQUIT", "quit request"),
        4 => ("SIGILL", "illegal instruction"),
        5 => (
            "SIGTRAP",
            "a breakpoint, or an overflow that the compiler traps",
        ),
        6 => ("SIGABRT", "it aborted"),
        8 => ("SIGFPE", "arithmetic error"),
        9 => (
            "SIGKILL",
            "by another process, or by the system because memory ran out",
        ),
        11 => ("SIGSEGV", "invalid memory access, or stack overflow"),
        13 => ("SIGPIPE", "a write to a closed pipe"),
        15 => ("SIGTERM", "termination request"),
        other => return format!("signal {other}"),
    };
    format!("{name} ({meaning})")
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
            "was killed by SIGSEGV (invalid memory access, or stack overflow)"
        );
        let names = [2, 3, 4, 5, 6, 8, 9, 11, 13, 15].map(signal_in_words);
        insta::assert_snapshot!(names.join("\n"), @r"
        SIGINT (interrupted)
        SIGQUIT (quit request)
        SIGILL (illegal instruction)
        SIGTRAP (a breakpoint, or an overflow that the compiler traps)
        SIGABRT (it aborted)
        SIGFPE (arithmetic error)
        SIGKILL (by another process, or by the system because memory ran out)
        SIGSEGV (invalid memory access, or stack overflow)
        SIGPIPE (a write to a closed pipe)
        SIGTERM (termination request)
        ");
        assert_eq!(words(42), "was killed by signal 42");
        // The status of a stopped process, which a wait never returns here.
        assert_eq!(words(0x137f), "ended in an unknown way");
        assert_eq!(words(3 << 8), "exited with code 3");
    }
}
