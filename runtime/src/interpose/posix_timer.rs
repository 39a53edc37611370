//! `timer_create` and its relatives, in virtual time. These timers expire in `virtual_timer.rs`.
//!
//! The kernel keeps the timers of processor time, and those that the program created before the
//! test began.

use core::ffi::{c_int, c_void};

use super::time::is_valid;
use super::virtual_timer::{self, ALARM, Function, Notification, SIGALRM, Times};
use crate::base::real;
use crate::base::sys::{self, timespec};
use crate::execution::active;

/// The id of the timer with index 0. The ids of the kernel are small, and libc's other ids are
/// negative.
const FIRST: usize = 0x7000_0000;

/// The index of the timer `id`. `None` if the caller is no task, or if the kernel keeps the timer.
fn index_of(id: *mut c_void) -> Option<usize> {
    let index = id.addr().checked_sub(FIRST)?;
    (active() && index != ALARM && index < virtual_timer::count()).then_some(index)
}

/// C's `struct sigevent`.
#[repr(C)]
pub(super) struct Event {
    value: usize,
    signal: c_int,
    notify: c_int,
    function: Option<Function>,
    /// The attributes of the thread that calls the function. They are not used.
    attributes: usize,
    rest: [usize; 4],
}

/// C's `struct itimerspec`.
#[repr(C)]
pub(super) struct Setting {
    interval: timespec,
    first: timespec,
}

impl Setting {
    /// Whether the kernel accepts the setting.
    fn is_valid(&self) -> bool {
        is_valid(&self.first) && is_valid(&self.interval)
    }

    fn of(times: Times) -> Self {
        Self {
            interval: timespec::from_nanos(times.interval),
            first: timespec::from_nanos(times.left),
        }
    }
}

/// The notification that `event` asks for, for the timer with this `id`. `None` if the event is not
/// valid.
fn notification_of(event: Option<&Event>, id: usize) -> Option<Notification> {
    const SIGEV_SIGNAL: c_int = 0;
    const SIGEV_NONE: c_int = 1;
    const SIGEV_THREAD: c_int = 2;
    const SIGEV_THREAD_ID: c_int = 4;
    let Some(event) = event else {
        return Some(Notification::Signal {
            signal: SIGALRM,
            value: id,
        });
    };
    let (signal, value) = (event.signal, event.value);
    match event.notify {
        // A task handles the signal, whatever thread it is for.
        SIGEV_SIGNAL | SIGEV_THREAD_ID if (1..=64).contains(&signal) => {
            Some(Notification::Signal { signal, value })
        }
        SIGEV_NONE => Some(Notification::Nothing),
        SIGEV_THREAD => event
            .function
            .map(|function| Notification::Call { function, value }),
        _ => None,
    }
}

/// libc's `timer_create`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_create(
    clock: c_int,
    event: *const Event,
    out: *mut *mut c_void,
) -> c_int {
    const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;
    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
    let is_of_processor =
        clock < 0 || matches!(clock, CLOCK_PROCESS_CPUTIME_ID | CLOCK_THREAD_CPUTIME_ID);
    if !active() || is_of_processor {
        // SAFETY: the caller's arguments.
        return unsafe { real::timer_create(clock, event.cast(), out) };
    }
    let id = FIRST + virtual_timer::count();
    // SAFETY: the caller passes null or an event.
    let Some(notification) = notification_of(unsafe { event.as_ref() }, id) else {
        return sys::libc_failure(sys::EINVAL);
    };
    virtual_timer::add(notification);
    // SAFETY: the caller passes room for an id.
    unsafe { out.write(core::ptr::without_provenance_mut(id)) };
    0
}

/// libc's `timer_settime`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_settime(
    id: *mut c_void,
    flags: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    const TIMER_ABSTIME: c_int = 1;
    let Some(index) = index_of(id) else {
        // SAFETY: the caller's arguments.
        return unsafe { real::timer_settime(id, flags, new.cast(), old.cast()) };
    };
    // SAFETY: the caller passes a setting.
    let new = unsafe { &*new };
    if !new.is_valid() {
        return sys::libc_failure(sys::EINVAL);
    }
    let (first, interval) = (new.first.nanos(), new.interval.nanos());
    let before = virtual_timer::set(index, interval, |now| {
        let start = if flags & TIMER_ABSTIME == 0 { now } else { 0 };
        (first > 0).then(|| start.saturating_add(first))
    });
    let Some(before) = before else {
        return sys::libc_failure(sys::EINVAL);
    };
    if !old.is_null() {
        // SAFETY: the caller passes null or room for a setting.
        unsafe { old.write(Setting::of(before)) };
    }
    0
}

/// libc's `timer_gettime`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_gettime(id: *mut c_void, out: *mut Setting) -> c_int {
    let Some(index) = index_of(id) else {
        // SAFETY: the caller's arguments.
        return unsafe { real::timer_gettime(id, out.cast()) };
    };
    let Some(times) = virtual_timer::look(index) else {
        return sys::libc_failure(sys::EINVAL);
    };
    // SAFETY: the caller passes room for a setting.
    unsafe { out.write(Setting::of(times)) };
    0
}

/// libc's `timer_getoverrun`. In virtual time each expiry is handled, so there are no overruns.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_getoverrun(id: *mut c_void) -> c_int {
    match index_of(id) {
        Some(index) if virtual_timer::exists(index) => 0,
        Some(_) => sys::libc_failure(sys::EINVAL),
        // SAFETY: the caller's argument.
        None => unsafe { real::timer_getoverrun(id) },
    }
}

/// libc's `timer_delete`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_delete(id: *mut c_void) -> c_int {
    match index_of(id) {
        Some(index) if virtual_timer::delete(index) => 0,
        Some(_) => sys::libc_failure(sys::EINVAL),
        // SAFETY: the caller's argument.
        None => unsafe { real::timer_delete(id) },
    }
}
