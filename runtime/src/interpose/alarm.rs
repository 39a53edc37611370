//! `alarm` and `setitimer`: the alarm of the process, in virtual time. It expires in
//! `virtual_timer.rs`.

use core::ffi::{c_int, c_uint};

use super::call::admit;
use super::virtual_timer::{self, ALARM, SECOND, Times};
use crate::base::sys::{self, number, timeval};
use crate::execution::active;

/// Sets the alarm to `first` nanoseconds from now, or cancels it if `first` is 0. Returns the times
/// of the former alarm.
fn set(first: u64, interval: u64) -> Times {
    let due = |now: u64| (first > 0).then(|| now.saturating_add(first));
    virtual_timer::set(ALARM, interval, due).expect("the alarm is not deleted")
}

/// libc's `alarm`.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn alarm(seconds: c_uint) -> c_uint {
    if !active() {
        // SAFETY: no memory is passed.
        return unsafe { sys::syscall(number::ALARM, [seconds as usize, 0, 0, 0, 0, 0]) as c_uint };
    }
    let before = set(u64::from(seconds) * SECOND, 0);
    before.left.div_ceil(SECOND) as c_uint
}

/// libc's `ualarm`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ualarm(first: c_uint, interval: c_uint) -> c_uint {
    let nanos = |micros: c_uint| u64::from(micros) * 1_000;
    if active() {
        return (set(nanos(first), nanos(interval)).left / 1_000) as c_uint;
    }
    let new = Setting::of(Times {
        left: nanos(first),
        interval: nanos(interval),
    });
    let mut old = Setting::of(Times {
        left: 0,
        interval: 0,
    });
    // SAFETY: both settings are valid.
    unsafe { setitimer(ITIMER_REAL, &raw const new, &raw mut old) };
    (old.first.nanos() / 1_000) as c_uint
}

const ITIMER_REAL: c_int = 0;

/// C's `struct itimerval`.
#[repr(C)]
pub(super) struct Setting {
    interval: Time,
    first: Time,
}

/// C's `struct timeval`.
type Time = timeval;

impl Time {
    fn of(nanos: u64) -> Self {
        Self {
            tv_sec: (nanos / SECOND).cast_signed(),
            tv_usec: (nanos % SECOND / 1_000).cast_signed(),
        }
    }

    /// Whether the kernel accepts the time in the setting of a timer.
    fn is_valid(&self) -> bool {
        self.tv_sec >= 0 && (0..1_000_000).contains(&self.tv_usec)
    }

    fn nanos(&self) -> u64 {
        let seconds = self.tv_sec.max(0).cast_unsigned().saturating_mul(SECOND);
        seconds.saturating_add(self.tv_usec.max(0).cast_unsigned() * 1_000)
    }
}

impl Setting {
    fn of(times: Times) -> Self {
        Self {
            interval: Time::of(times.interval),
            first: Time::of(times.left),
        }
    }
}

/// libc's `setitimer`. Only `ITIMER_REAL` is in virtual time. The kernel keeps the timers of
/// processor time.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn setitimer(
    which: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    // SAFETY: the caller passes null or a setting, and null or room for one.
    unsafe {
        if active() && which == ITIMER_REAL {
            let new = new.as_ref();
            if new.is_some_and(|new| !new.first.is_valid() || !new.interval.is_valid()) {
                return sys::libc_failure(sys::EINVAL);
            }
            let first = new.map_or(0, |new| new.first.nanos());
            let before = set(first, new.map_or(0, |new| new.interval.nanos()));
            if !old.is_null() {
                old.write(Setting::of(before));
            }
            return 0;
        }
        if active() && !old.is_null() {
            admit(old as usize, size_of::<Setting>());
        }
        let arguments = [which as usize, new as usize, old as usize, 0, 0, 0];
        sys::libc_result(sys::syscall(number::SETITIMER, arguments)) as c_int
    }
}

/// libc's `getitimer`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn getitimer(which: c_int, out: *mut Setting) -> c_int {
    // SAFETY: the caller passes room for a setting.
    unsafe {
        if active() && which == ITIMER_REAL {
            let times = virtual_timer::look(ALARM).expect("the alarm is not deleted");
            out.write(Setting::of(times));
            return 0;
        }
        if active() {
            admit(out as usize, size_of::<Setting>());
        }
        let arguments = [which as usize, out as usize, 0, 0, 0, 0];
        sys::libc_result(sys::syscall(number::GETITIMER, arguments)) as c_int
    }
}
