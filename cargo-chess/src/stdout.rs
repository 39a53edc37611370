//! Output to standard output in one piece.

use std::io::{self, ErrorKind, Write};

use crate::error::{Error, Result};

/// Prints `text` to standard output. A pipe that the reader has closed is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output")(error))
        }
        _ => Ok(()),
    }
}
