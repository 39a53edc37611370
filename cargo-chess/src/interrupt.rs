//! Ctrl-C: a flag that everything which waits looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Whether the user asked the run to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over Ctrl-C and termination signals: from now on they only set the flag.
    ///
    /// Call it once a process.
    pub fn install() -> Result<Self> {
        let interrupt = Self::default();
        let flag = interrupt.clone();
        ctrlc::set_handler(move || flag.request())
            .map_err(|error| Error::Internal(format!("cannot take over Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// Asks the run to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run is to end.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
