//! Ctrl-C: a flag that everything which waits looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// Whether the user asked the run to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over Ctrl-C and termination signals: from now on they only set the flag.
    ///
    /// Call it once a process. The signal's handler itself sets the flag: a child
    /// that the same Ctrl-C ends must not be seen to fail before that.
    pub fn install() -> Result<Self> {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, interrupt.0.clone())
                .map_err(|error| Error::Internal(format!("cannot take over Ctrl-C: {error}")))?;
        }
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
