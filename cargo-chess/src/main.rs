//! The `cargo-chess` binary: passes its arguments to the library and exits with the returned code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_chess::run(std::env::args_os())
}
