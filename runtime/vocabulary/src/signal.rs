//! The signals that end a process, by their numbers on Linux: their names and meanings.

/// The words for a signal, such as `SIGILL (an illegal instruction)`, or its number if it has no
/// name here.
pub fn signal_in_words(signal: i32) -> String {
    let (name, meaning) = match signal {
        1 => ("SIGHUP", "the terminal was closed"),
        2 => ("SIGINT", "an interrupt"),
        3 => ("SIGQUIT", "a quit request"),
        4 => ("SIGILL", "an illegal instruction"),
        5 => (
            "SIGTRAP",
            "a breakpoint, or an overflow that the compiler traps",
        ),
        6 => ("SIGABRT", "abort"),
        7 => ("SIGBUS", "an access to memory without a page"),
        8 => ("SIGFPE", "an arithmetic error"),
        9 => (
            "SIGKILL",
            "by another process, or by the system because memory ran out",
        ),
        11 => ("SIGSEGV", "an invalid memory access"),
        13 => ("SIGPIPE", "a write to a closed pipe"),
        14 => ("SIGALRM", "an alarm that nothing handles"),
        15 => ("SIGTERM", "a termination request"),
        other => return format!("signal {other}"),
    };
    format!("{name} ({meaning})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_meanings() {
        let words: Vec<_> = (1..16).map(signal_in_words).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        assert_eq!(
            words,
            [
                "SIGHUP (the terminal was closed)",
                "SIGINT (an interrupt)",
                "SIGQUIT (a quit request)",
                "SIGILL (an illegal instruction)",
                "SIGTRAP (a breakpoint, or an overflow that the compiler traps)",
                "SIGABRT (abort)",
                "SIGBUS (an access to memory without a page)",
                "SIGFPE (an arithmetic error)",
                "SIGKILL (by another process, or by the system because memory ran out)",
                "signal 10",
                "SIGSEGV (an invalid memory access)",
                "signal 12",
                "SIGPIPE (a write to a closed pipe)",
                "SIGALRM (an alarm that nothing handles)",
                "SIGTERM (a termination request)",
            ]
        );
    }
}
