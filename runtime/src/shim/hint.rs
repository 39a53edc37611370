//! `std::hint`: a spin hint is a yield.

use std::panic::Location;

pub use std::hint::*;

use crate::execution::{self, Op};

/// Yields, since the task waits for another one: see [`std::hint::spin_loop`].
#[inline]
#[track_caller]
pub fn spin_loop() {
    if execution::active() {
        execution::yield_now(Op::SpinLoop, Some(Location::caller()));
    } else {
        std::hint::spin_loop();
    }
}
