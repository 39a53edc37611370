//! `alarm` and `setitimer`, in virtual time: a separate task sleeps until the alarm is due, and
//! then handles the signal.
//!
//! In a process of `cargo test`, the kernel delivers the signal to the first thread. This thread
//! belongs to the harness, and the threads of the test continue during the handler. The separate
//! task has the same effect. The search chooses the moment at which the alarm is due, as for any
//! other sleep.
//!
//! This is different if the signal has the default action, which ends the process. A test may set
//! such an alarm as a safeguard against a hang, and must not fail because of the alarm. So the
//! alarm is postponed while another task can continue without a timeout. After that, the signal is
//! sent if a task waits in `pause` or `sigsuspend`. Otherwise the tasks are in a deadlock, and the
//! report of the deadlock says more than the end of the process.

use core::ffi::{c_int, c_uint, c_void};

use super::call::admit;
use super::disposition::{SIG_DFL, signals};
use super::{disposition, signal, wait_signal};
use crate::base::memory::Place;
use crate::base::sys::{self, number, timeval};
use crate::execution::{self, Effect, Op, TaskId, active};

const SIGALRM: c_int = 14;
const SECOND: u64 = 1_000_000_000;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Alarm> = Place::after(&disposition::PLACE);

/// The alarm of the process.
pub(crate) struct Alarm {
    /// The time at which the alarm is due, in virtual nanoseconds; `None` if it is not set.
    due: Option<u64>,
    /// The time between two signals in virtual nanoseconds; 0 if there is only one signal.
    interval: u64,
    /// The task that sleeps until the alarm is due. `None` while this task handles the signal.
    sleeper: Option<TaskId>,
    /// The number of times that the alarm was set or cancelled.
    settings: usize,
}

impl Alarm {
    pub(crate) const fn new() -> Self {
        Self {
            due: None,
            interval: 0,
            sleeper: None,
            settings: 0,
        }
    }

    /// Resets the alarm for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns the time until the alarm is due (0 if it is not set), and its interval.
    fn left(&self, now: u64) -> (u64, u64) {
        let left = self.due.map_or(0, |due| due.saturating_sub(now).max(1));
        (left, self.interval)
    }
}

fn of_process() -> &'static mut Alarm {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut *PLACE.get() }
}

/// Sets the alarm to `first` nanoseconds from now, or cancels it if `first` is 0. Returns the
/// remaining time and the interval of the former alarm.
fn set(first: u64, interval: u64) -> (u64, u64) {
    execution::before_call(Op::AlarmSet, 0);
    let now = execution::now();
    let left = of_process().left(now);
    if let Some(task) = of_process().sleeper.take() {
        execution::stop_forever(task);
    }
    of_process().settings += 1;
    of_process().due = (first > 0).then(|| now.saturating_add(first));
    of_process().interval = interval;
    execution::after_call(Op::AlarmSet, 0, Effect::Write);
    if first > 0 {
        let setting = core::ptr::without_provenance_mut(of_process().settings);
        let task = execution::spawn_pthread(wait_for_alarm, setting, 0);
        execution::detach_and_name(task, "alarm");
        of_process().sleeper = Some(task);
    }
    left
}

/// The function of the task that waits for the alarm. The argument is the number of the setting.
unsafe extern "C" fn wait_for_alarm(setting: *mut c_void) -> *mut c_void {
    // During the signal's handler, another alarm may be set, for which another task waits.
    let is_own = || of_process().settings == setting.addr();
    while let Some(due) = of_process().due.filter(|_| is_own()) {
        of_process().sleeper = Some(execution::current());
        execution::sleep_until(due, None);
        of_process().sleeper = None;
        if !ring(due) {
            break;
        }
    }
    core::ptr::null_mut()
}

/// The effect of a timer's expiry.
pub(super) enum Expiry {
    /// The timer sends its signal.
    Sends,
    /// The signal would end the process while other tasks can continue.
    IsPostponed,
    /// The signal would end the process in a deadlock: see the comment of this file.
    IsDeadlock,
}

/// The effect of an expiry, at this moment, of a timer that sends `signal`.
pub(super) fn expiry(signal: c_int) -> Expiry {
    let action = signals().disposition(signal).map(|action| action.handler);
    if action != Some(SIG_DFL) || signals().is_blocked(signal) {
        Expiry::Sends
    } else if execution::others_can_run() {
        Expiry::IsPostponed
    } else if wait_signal::is_awaited() {
        Expiry::Sends
    } else {
        Expiry::IsDeadlock
    }
}

/// Handles the expiry of the alarm at the time `due`. Returns whether the alarm is set again.
fn ring(due: u64) -> bool {
    match expiry(SIGALRM) {
        Expiry::Sends => {}
        Expiry::IsPostponed => {
            of_process().due = Some(execution::now() + SECOND);
            return true;
        }
        Expiry::IsDeadlock => {
            of_process().due = None;
            return false;
        }
    }
    let interval = of_process().interval;
    of_process().due = (interval > 0).then(|| due.saturating_add(interval));
    signal::send_alarm(SIGALRM);
    interval > 0
}

/// libc's `alarm`.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn alarm(seconds: c_uint) -> c_uint {
    if !active() {
        // SAFETY: no memory is passed.
        return unsafe { sys::syscall(number::ALARM, [seconds as usize, 0, 0, 0, 0, 0]) as c_uint };
    }
    let (left, _) = set(u64::from(seconds) * SECOND, 0);
    left.div_ceil(SECOND) as c_uint
}

/// libc's `ualarm`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ualarm(first: c_uint, interval: c_uint) -> c_uint {
    let nanos = |micros: c_uint| u64::from(micros) * 1_000;
    if active() {
        return (set(nanos(first), nanos(interval)).0 / 1_000) as c_uint;
    }
    let time = |micros| Setting::of(0, nanos(micros)).first;
    let new = Setting {
        interval: time(interval),
        first: time(first),
    };
    let mut old = Setting::of(0, 0);
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

    fn nanos(&self) -> u64 {
        let seconds = self.tv_sec.max(0).cast_unsigned().saturating_mul(SECOND);
        seconds.saturating_add(self.tv_usec.max(0).cast_unsigned() * 1_000)
    }
}

impl Setting {
    fn of(interval: u64, first: u64) -> Self {
        Self {
            interval: Time::of(interval),
            first: Time::of(first),
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
            let first = new.map_or(0, |new| new.first.nanos());
            let (left, interval) = set(first, new.map_or(0, |new| new.interval.nanos()));
            if !old.is_null() {
                old.write(Setting::of(interval, left));
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
            execution::before_call(Op::AlarmSet, 0);
            let (left, interval) = of_process().left(execution::now());
            out.write(Setting::of(interval, left));
            execution::after_call(Op::AlarmSet, 0, Effect::Read);
            return 0;
        }
        if active() {
            admit(out as usize, size_of::<Setting>());
        }
        let arguments = [which as usize, out as usize, 0, 0, 0, 0];
        sys::libc_result(sys::syscall(number::GETITIMER, arguments)) as c_int
    }
}
