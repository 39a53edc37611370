//! `std::arch`: the clock of the processor is virtual, as the other clocks are, and the
//! instruction `pause` is a yield.

use std::arch::x86_64 as real;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::execution;

/// See [`std::arch::x86_64::_mm_pause`]. The function is a yield, as [`std::hint::spin_loop`] is,
/// which has the same instruction.
#[inline]
#[track_caller]
pub fn _mm_pause() {
    super::hint::spin_loop();
}

/// See [`std::arch::x86_64::_rdtsc`].
#[inline]
pub unsafe fn _rdtsc() -> u64 {
    if execution::active() {
        cycles()
    } else {
        // SAFETY: every processor that can run this has the instruction.
        unsafe { real::_rdtsc() }
    }
}

/// See [`std::arch::x86_64::__rdtscp`].
#[inline]
pub unsafe fn __rdtscp(aux: *mut u32) -> u64 {
    if execution::active() {
        // SAFETY: the caller passes a writable pointer. All tasks are on one processor.
        unsafe { *aux = 0 };
        cycles()
    } else {
        // SAFETY: the caller passes a writable pointer.
        unsafe { real::__rdtscp(aux) }
    }
}

/// The virtual clock in cycles: one cycle for each nanosecond. Each read of the clock advances it
/// a little.
fn cycles() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}
