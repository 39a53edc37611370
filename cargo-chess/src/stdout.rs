//! What goes to standard output in one piece.

use std::io::{self, ErrorKind, Write};

use crate::error::{Error, Result};

/// Prints `text`; a reader that has left early is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output")(error))
        }
        _ => Ok(()),
    }
}
