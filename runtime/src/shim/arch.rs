//! `std::arch`: the clock of the processor is virtual, as the other clocks are, and the
//! instruction `pause` is a yield.

use crate::base::real;
use crate::base::sys::timespec;
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
    cycles()
}

/// See [`std::arch::x86_64::__rdtscp`].
#[inline]
pub unsafe fn __rdtscp(aux: *mut u32) -> u64 {
    // SAFETY: the caller passes a writable pointer. All tasks are on one processor.
    unsafe { *aux = 0 };
    cycles()
}

/// The clock in cycles: one cycle for each nanosecond. Each read by a task advances the virtual clock
/// a little. The rate is the same outside of executions, because some crates measure it in a
/// constructor. There the clock is the monotonic clock of the kernel, which counts from the start of
/// the machine. The virtual clock counts from 1970. So no later read is less than an earlier one.
fn cycles() -> u64 {
    const CLOCK_MONOTONIC: i32 = 1;
    if execution::active() {
        return execution::read_clock();
    }
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    unsafe { real::clock_gettime(CLOCK_MONOTONIC, &raw mut now) };
    now.nanos()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::cycles;

    #[test]
    fn outside_of_executions_a_cycle_is_a_nanosecond_too() {
        let before = cycles();
        thread::sleep(Duration::from_millis(10));
        assert!(cycles() - before >= 10_000_000);
    }
}
