//! The output for people on standard error: status lines in cargo's style, warnings and errors.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};

use crate::error::ConfigError;
use crate::error::Error;

const STATUS: Style = AnsiColor::Green.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// The settings for output on standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shell {
    /// Whether to use colour.
    pub color: bool,
    /// -1 quiet, 0 normal, 1 and more: verbose.
    pub verbosity: i8,
}

impl Shell {
    /// Prints a line such as `   Compiling bank v0.1.0`, unless `--quiet` is given.
    pub(crate) fn status(self, verb: &str, message: impl Display) {
        if self.verbosity >= 0 {
            let verb = format!("{verb:>12}");
            self.line(STATUS, &verb, &message);
        }
    }

    /// Prints a warning.
    pub(crate) fn warn(self, message: impl Display) {
        self.line(WARNING, "warning:", &message);
    }

    /// Prints a warning about Chess.toml, with its line.
    pub(crate) fn config_warning(self, warning: &ConfigError) {
        write_line(&warning.render(self.color));
    }

    /// Prints the error that ends the command.
    pub(crate) fn error(self, error: &Error) {
        match error {
            Error::Config(config) => write_line(&config.render(self.color)),
            _ => self.line(ERROR, "error:", error),
        }
    }

    /// Prints the failure at the end of a gate.
    pub(crate) fn failure(self, message: impl Display) {
        self.line(ERROR, "error: the gate failed:", &message);
    }

    /// Prints lines unchanged.
    pub(crate) fn text(text: &str) {
        write_line(text.trim_end_matches('\n'));
    }

    fn line(self, style: Style, word: &str, message: &dyn Display) {
        if self.color {
            write_line(&format!("{style}{word}{style:#} {message}"));
        } else {
            write_line(&format!("{word} {message}"));
        }
    }
}

/// Writes a line to standard error. An error is ignored: it means that standard error has no
/// reader.
fn write_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
