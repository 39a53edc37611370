//! The panic hook: a panic of this program is a defect, and is reported as an internal error.

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::ExitCode;

use crate::error::{DEFECT, exit_code};

/// Adds an explanation for the user to the messages of panics.
pub(crate) fn explain_panics() {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        default_hook(panic);
        // A closed standard error cannot be reported.
        let _ = writeln!(io::stderr(), "error: internal error: {}", words());
    }));
}

/// Returns the exit code of `run`, or that of an internal error if `run` panics.
pub(crate) fn catch(run: impl FnOnce() -> ExitCode) -> ExitCode {
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| exit_code::INTERNAL.into())
}

fn words() -> String {
    format!("the panic above\n{DEFECT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_panic_is_printed_as_an_internal_error_and_has_its_exit_code() {
        let code = catch(|| panic!("a list without an end"));
        assert_eq!(code, exit_code::INTERNAL.into());
        assert_eq!(catch(|| ExitCode::SUCCESS), ExitCode::SUCCESS);
        let error = Error::Internal("the panic above".to_owned());
        assert_eq!(error.exit_code(), exit_code::INTERNAL);
        assert_eq!(error.to_string(), format!("internal error: {}", words()));
        insta::assert_snapshot!(error, @r"
        internal error: the panic above
        This is a defect of cargo chess: please report it at https://github.com/cargo-chess/cargo-chess/issues,
        with this message, the command that led here, and what `cargo chess --version` and `rustc -vV` print.
        `cargo test` still runs the tests.
        ");
    }
}
