//! The `cargo-chess` binary: hands its arguments to the library and exits with what that returns.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_chess::run(std::env::args_os())
}
