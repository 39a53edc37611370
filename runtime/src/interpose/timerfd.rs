//! `timerfd`, in virtual time. The descriptor of a timer is an `eventfd`, to which the engine
//! writes when the virtual clock has passed the expiry of the timer.
//!
//! For reads, polls and flags, an `eventfd` behaves as a timer descriptor. If a timer is set while
//! a task waits for a descriptor, the expiry of the timer can end the wait, as a timeout does.

use core::ffi::c_int;

use super::call::admit;
use super::loopback;
use super::time::is_valid;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::sys::{self, number, timespec};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Timers> = Place::after(&loopback::PLACE);

/// The timers of an execution.
pub(crate) struct Timers(EngineVec<Timer>);

struct Timer {
    descriptor: c_int,
    /// The next expiry, in virtual nanoseconds; `None` if the timer is not set.
    expiry: Option<u64>,
    /// The time between expiries; 0 if there is only one.
    interval: u64,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    /// Removes all timers, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

fn timers() -> &'static mut EngineVec<Timer> {
    // SAFETY: one task runs at a time, and each use ends before the next
    // scheduling point.
    unsafe { &mut (*PLACE.get()).0 }
}

/// The time at which the next timer expires, in virtual nanoseconds; `None` if no timer is set.
#[inline]
pub(super) fn next_expiry() -> Option<u64> {
    timers().iter().filter_map(|timer| timer.expiry).min()
}

/// Removes the timer of a closed descriptor, whose number may soon be reused.
#[inline]
pub(super) fn forget(descriptor: c_int) {
    timers().retain(|timer| timer.descriptor != descriptor);
}

/// Writes to the descriptors of the timers that have expired.
#[inline]
pub(super) fn fire() {
    if !timers().is_empty() {
        fire_expired(execution::now());
    }
}

#[cold]
fn fire_expired(now: u64) {
    for timer in timers().iter_mut() {
        let Some(expiry) = timer.expiry.filter(|&expiry| expiry <= now) else {
            continue;
        };
        let missed = (now - expiry).checked_div(timer.interval).unwrap_or(0);
        let count = missed + 1;
        timer.expiry = (timer.interval > 0).then(|| expiry + count * timer.interval);
        let at = &raw const count as usize;
        // SAFETY: eight readable bytes.
        unsafe { sys::syscall(number::WRITE, [timer.descriptor as usize, at, 8, 0, 0, 0]) };
    }
    execution::descriptors_changed();
}

/// C's `struct itimerspec`.
#[repr(C)]
pub(super) struct Setting {
    interval: timespec,
    first: timespec,
}

/// libc's `timerfd_create`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    // SAFETY: no memory is passed. The flags of both calls are the same.
    unsafe {
        if !active() {
            let arguments = [clock as usize, flags as usize, 0, 0, 0, 0];
            return sys::libc_result(sys::syscall(number::TIMERFD_CREATE, arguments)) as c_int;
        }
        let descriptor = sys::syscall(number::EVENTFD2, [0, flags as usize, 0, 0, 0, 0]);
        if descriptor >= 0 {
            let descriptor = descriptor as c_int;
            forget(descriptor);
            timers().push(Timer {
                descriptor,
                expiry: None,
                interval: 0,
            });
        }
        sys::libc_result(descriptor) as c_int
    }
}

/// The remaining time of a timer and its interval, in C's structure.
fn setting(timer: &Timer, now: u64) -> Setting {
    let left = timer
        .expiry
        .map_or(0, |expiry| expiry.saturating_sub(now).max(1));
    Setting {
        interval: timespec::from_nanos(timer.interval),
        first: timespec::from_nanos(left),
    }
}

/// libc's `timerfd_settime`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_settime(
    descriptor: c_int,
    flags: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    const TFD_TIMER_ABSTIME: c_int = 1;
    // SAFETY: the caller passes a setting.
    if active() && unsafe { !is_valid(&(*new).first) || !is_valid(&(*new).interval) } {
        return sys::libc_failure(sys::EINVAL);
    }
    if active() {
        let identity = descriptor::look(descriptor);
        let object = execution::descriptor_object(descriptor, identity);
        execution::before_call(Op::TimerSet, object);
        let now = execution::now();
        let mut all = timers().iter_mut();
        if let Some(timer) = all.find(|timer| timer.descriptor == descriptor) {
            // SAFETY: the caller passes a setting, and null or room for one.
            unsafe {
                if !old.is_null() {
                    old.write(setting(timer, now));
                }
                let first = (*new).first.nanos();
                let start = if flags & TFD_TIMER_ABSTIME == 0 {
                    now
                } else {
                    0
                };
                timer.expiry = (first > 0).then(|| start.saturating_add(first));
                timer.interval = (*new).interval.nanos();
            }
            drain(descriptor);
            execution::after_call(Op::TimerSet, object, Effect::Write);
            // The setting has changed the deadline of the tasks that wait for the timer.
            execution::wake_all_awaiting();
            return 0;
        }
    }
    let arguments = [
        descriptor as usize,
        flags as usize,
        new as usize,
        old as usize,
        0,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    sys::libc_result(unsafe { sys::syscall(number::TIMERFD_SETTIME, arguments) }) as c_int
}

/// Discards the expiries of the timer `descriptor` that were not read.
fn drain(descriptor: c_int) {
    let mut count = 0u64;
    let at = &raw mut count as usize;
    if descriptor::is_ready(descriptor, descriptor::POLLIN) {
        // SAFETY: eight writable bytes; the call does not block.
        unsafe { sys::syscall(number::READ, [descriptor as usize, at, 8, 0, 0, 0]) };
    }
}

/// libc's `timerfd_gettime`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_gettime(descriptor: c_int, out: *mut Setting) -> c_int {
    if active() {
        let now = execution::now();
        let mut all = timers().iter();
        if let Some(timer) = all.find(|timer| timer.descriptor == descriptor) {
            // SAFETY: the caller passes room for a setting.
            unsafe { out.write(setting(timer, now)) };
            return 0;
        }
        admit(out as usize, size_of::<Setting>());
    }
    let arguments = [descriptor as usize, out as usize, 0, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    sys::libc_result(unsafe { sys::syscall(number::TIMERFD_GETTIME, arguments) }) as c_int
}
