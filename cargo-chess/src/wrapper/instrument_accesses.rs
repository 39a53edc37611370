//! The arguments by which rustc instruments a unit: the runtime sees each of its loads and stores.
//!
//! LLVM's `ThreadSanitizer` pass puts the call of a hook before each access to plain memory. The
//! runtime has the hooks (`runtime/src/interpose/accesses.rs`), so that no library of the sanitizer
//! is linked. `-Zsanitizer` needs `RUSTC_BOOTSTRAP=1`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// The argument for every unit of a build that has instrumented units. Without this argument,
/// rustc refuses to combine instrumented units with other units.
pub(super) const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";

/// The arguments for every instrumented unit.
const INSTRUMENTED: &[&str] = &[
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    MIXED,
    // The shims announce atomic operations.
    "-Cllvm-args=-tsan-instrument-atomics=0",
    // Without this argument, the unit uses std's own instances of its generics, which are not
    // instrumented.
    "-Zshare-generics=no",
    // The line of an access in a macro is that of the macro's call, as in `Location::caller`.
    "-Ccollapse-macro-debuginfo=yes",
    // The runtime finds the callers of library functions by the frame pointers.
    "-Cforce-frame-pointers=yes",
];

/// The arguments for a unit without optimisation.
const NOT_OPTIMISED: &[&str] = &[
    // Otherwise rustc removes reads that the sources have.
    "-Zmir-opt-level=0",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
];

/// The argument for an optimised unit. Its functions call a hook when they begin and when they end.
/// So no other call is the last one of a function: LLVM would replace such a call by a jump, and
/// the runtime would not find the function among the callers of an access.
const OPTIMISED: &[&str] = &["-Cllvm-args=-tsan-handle-cxx-exceptions=0"];

/// The arguments that instrument a unit, for a rustc that is also given `args`.
pub(super) fn instrumenting(args: &[OsString]) -> Vec<OsString> {
    let is_optimised = !matches!(option(args, "opt-level").as_deref(), None | Some("0"));
    let of_level = if is_optimised {
        OPTIMISED
    } else {
        NOT_OPTIMISED
    };
    let mut added: Vec<OsString> = INSTRUMENTED
        .iter()
        .chain(of_level)
        .map(OsString::from)
        .collect();
    // The linker finds the lines of the hooks' callers in the debug information.
    if matches!(
        option(args, "debuginfo").as_deref(),
        None | Some("0" | "none")
    ) {
        added.push("-Cdebuginfo=line-tables-only".into());
    }
    if option(args, "strip").is_some() {
        added.push("-Cstrip=none".into());
    }
    added
}

/// The value of an option of code generation (`-C name=value`). The last one counts.
fn option(args: &[OsString], name: &str) -> Option<String> {
    let mut values = args.iter().enumerate().filter_map(|(at, arg)| {
        let option = match arg.as_bytes().strip_prefix(b"-C")? {
            b"" => args.get(at + 1)?.as_bytes(),
            option => option,
        };
        let value = option.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    });
    values.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(line: &str) -> String {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let added = instrumenting(&args);
        let added: Vec<_> = added.iter().map(|arg| arg.to_str().unwrap()).collect();
        added[INSTRUMENTED.len()..].join(" ")
    }

    #[test]
    fn unoptimised_units_keep_the_reads_of_their_sources() {
        assert_eq!(added("-C debuginfo=2"), NOT_OPTIMISED.join(" "));
        assert_eq!(
            added("-C opt-level=0 -C debuginfo=2"),
            NOT_OPTIMISED.join(" ")
        );
        assert_eq!(added("-C opt-level=s -Cdebuginfo=1"), OPTIMISED.join(" "));
    }

    #[test]
    fn units_without_lines_get_them() {
        let optimised = OPTIMISED.join(" ");
        let lines = format!("{optimised} -Cdebuginfo=line-tables-only");
        assert_eq!(added("-C opt-level=3"), lines);
        assert_eq!(
            added("-Copt-level=3 -C debuginfo=0 -C strip=debuginfo"),
            format!("{lines} -Cstrip=none")
        );
        assert_eq!(
            added("-C opt-level=0 -C opt-level=2 -C debuginfo=2"),
            optimised
        );
    }
}
