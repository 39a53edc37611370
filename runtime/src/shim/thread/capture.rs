//! What a thread prints goes where its parent's output goes.

use std::io;
use std::sync::{Arc, Mutex};

/// Where captured output goes; `None` where it is not captured.
pub(super) type Capture = Option<Arc<Mutex<Vec<u8>>>>;

/// The calling thread's capture.
#[inline]
pub(super) fn inherit() -> Capture {
    // There is no getter: take it, and put it back.
    let capture = io::set_output_capture(None);
    if capture.is_some() {
        io::set_output_capture(capture.clone());
    }
    capture
}

/// Captures the calling thread's output.
#[inline]
pub(super) fn set(capture: Capture) {
    if capture.is_some() {
        io::set_output_capture(capture);
    }
}
