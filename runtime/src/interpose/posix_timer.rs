//! `timer_create` and its relatives, in virtual time: a separate task sleeps until a timer expires.
//! Then it handles the signal of the timer, as for an alarm, or starts a task that calls the
//! function of the timer.
//!
//! The kernel keeps the timers of processor time, and those that the program created before the
//! test began.

use core::ffi::{c_int, c_void};

use super::alarm::{Expiry, expiry};
use super::{alarm, signal};
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::real;
use crate::base::sys::{self, timespec};
use crate::execution::{self, Effect, Op, TaskId, active};

const SIGALRM: c_int = 14;
const EINVAL: isize = 22;
const SECOND: u64 = 1_000_000_000;
/// The id of the first timer. The ids of the kernel are small, and libc's other ids are negative.
const FIRST: usize = 0x7000_0000;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<PosixTimers> = Place::after(&alarm::PLACE);

/// The timers of an execution, by their ids.
pub(crate) struct PosixTimers(EngineVec<PosixTimer>);

struct PosixTimer {
    notification: Notification,
    /// The next expiry, in virtual nanoseconds; `None` if the timer is not set.
    due: Option<u64>,
    /// The time between expiries; 0 if there is only one.
    interval: u64,
    /// The task that sleeps until the timer is due. `None` while this task handles an expiry.
    sleeper: Option<TaskId>,
    /// The number of times that the timer was set.
    settings: u32,
    is_deleted: bool,
}

/// The effect of each expiry of a timer.
#[derive(Clone, Copy)]
enum Notification {
    Nothing,
    Signal { signal: c_int, value: usize },
    Call { function: Function, value: usize },
}

/// The function of a timer with `SIGEV_THREAD`, which gets the value of the timer.
type Function = unsafe extern "C" fn(usize);

impl PosixTimers {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    /// Removes all timers, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl PosixTimer {
    /// The setting at the time `now`: the remaining time and the interval.
    fn setting(&self, now: u64) -> Setting {
        let left = match self.due {
            Some(due) if due > now => due - now,
            // No task counts the expiries of a timer without a notification.
            Some(due) if matches!(self.notification, Notification::Nothing) => {
                let late = (now - due).checked_rem(self.interval);
                late.map_or(0, |late| self.interval - late)
            }
            // The task of the timer is about to run.
            Some(_) => 1,
            None => 0,
        };
        Setting {
            interval: timespec::from_nanos(self.interval),
            first: timespec::from_nanos(left),
        }
    }
}

fn timers() -> &'static mut EngineVec<PosixTimer> {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut (*PLACE.get()).0 }
}

/// The timer with this index, unless it was deleted.
fn timer(index: usize) -> Option<&'static mut PosixTimer> {
    timers().get_mut(index).filter(|timer| !timer.is_deleted)
}

/// The index of the timer `id`. `None` if the caller is no task, or if the timer is one of the
/// kernel.
fn index_of(id: *mut c_void) -> Option<usize> {
    let index = id.addr().checked_sub(FIRST)?;
    (active() && index < timers().len()).then_some(index)
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
    let id = FIRST + timers().len();
    // SAFETY: the caller passes null or an event.
    let Some(notification) = notification_of(unsafe { event.as_ref() }, id) else {
        return sys::libc_result(-EINVAL) as c_int;
    };
    timers().push(PosixTimer {
        notification,
        due: None,
        interval: 0,
        sleeper: None,
        settings: 0,
        is_deleted: false,
    });
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
    execution::before_call(Op::AlarmSet, 0);
    let now = execution::now();
    let Some(timer) = timer(index) else {
        execution::after_call(Op::AlarmSet, 0, Effect::Read);
        return sys::libc_result(-EINVAL) as c_int;
    };
    // SAFETY: the caller passes a setting, and null or room for one.
    let first = unsafe {
        if !old.is_null() {
            old.write(timer.setting(now));
        }
        timer.interval = (*new).interval.nanos();
        (*new).first.nanos()
    };
    let start = if flags & TIMER_ABSTIME == 0 { now } else { 0 };
    timer.due = (first > 0).then(|| start.saturating_add(first));
    timer.settings += 1;
    let setting = SettingOf {
        index,
        number: timer.settings,
    };
    let has_task = first > 0 && !matches!(timer.notification, Notification::Nothing);
    if let Some(task) = timer.sleeper.take() {
        execution::stop_forever(task);
    }
    execution::after_call(Op::AlarmSet, 0, Effect::Write);
    if has_task {
        let task = execution::spawn_pthread(wait_for_expiry, setting.argument(), 0);
        execution::detach_and_name(task, "timer");
        if let Some(timer) = setting.timer() {
            timer.sleeper = Some(task);
        }
    }
    0
}

/// One setting of a timer, for the task that waits for its expiries.
#[derive(Clone, Copy)]
struct SettingOf {
    /// The index of the timer.
    index: usize,
    /// The number of the setting, from 1.
    number: u32,
}

impl SettingOf {
    fn argument(self) -> *mut c_void {
        core::ptr::without_provenance_mut(self.index | (self.number as usize) << u32::BITS)
    }

    fn from_argument(argument: *mut c_void) -> Self {
        Self {
            index: argument.addr() & u32::MAX as usize,
            number: (argument.addr() >> u32::BITS) as u32,
        }
    }

    /// The timer, unless it was deleted or set again.
    fn timer(self) -> Option<&'static mut PosixTimer> {
        timer(self.index).filter(|timer| timer.settings == self.number)
    }
}

/// The function of the task that waits for the expiries of a timer. The argument is that of a
/// [`SettingOf`].
unsafe extern "C" fn wait_for_expiry(argument: *mut c_void) -> *mut c_void {
    let setting = SettingOf::from_argument(argument);
    while let Some(timer) = setting.timer()
        && let Some(due) = timer.due
    {
        timer.sleeper = Some(execution::current());
        execution::sleep_until(due, None);
        if !expires(setting, due) {
            break;
        }
    }
    core::ptr::null_mut()
}

/// Handles the expiry of a timer at the time `due`. Returns whether it will expire again.
fn expires(setting: SettingOf, due: u64) -> bool {
    let Some(timer) = setting.timer() else {
        return false;
    };
    timer.sleeper = None;
    if let Notification::Signal { signal, .. } = timer.notification {
        match expiry(signal) {
            Expiry::Sends => {}
            Expiry::IsPostponed => {
                timer.due = Some(execution::now() + SECOND);
                return true;
            }
            Expiry::IsDeadlock => {
                timer.due = None;
                return false;
            }
        }
    }
    let (notification, interval) = (timer.notification, timer.interval);
    timer.due = (interval > 0).then(|| due.saturating_add(interval));
    match notification {
        Notification::Nothing => {}
        Notification::Signal { signal, value } => signal::send_timer(signal, value),
        Notification::Call { .. } => {
            let task = execution::spawn_pthread(call, setting.argument(), 0);
            execution::detach_and_name(task, "timer call");
        }
    }
    interval > 0
}

/// The function of a task that calls the function of a timer. The argument is that of a
/// [`SettingOf`].
unsafe extern "C" fn call(argument: *mut c_void) -> *mut c_void {
    let timer = timers().get(SettingOf::from_argument(argument).index);
    let notification = timer.map(|timer| timer.notification);
    if let Some(Notification::Call { function, value }) = notification {
        // SAFETY: the program has passed this function for such calls.
        unsafe { function(value) };
    }
    core::ptr::null_mut()
}

/// libc's `timer_gettime`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_gettime(id: *mut c_void, out: *mut Setting) -> c_int {
    let Some(index) = index_of(id) else {
        // SAFETY: the caller's arguments.
        return unsafe { real::timer_gettime(id, out.cast()) };
    };
    execution::before_call(Op::AlarmSet, 0);
    let setting = timer(index).map(|timer| timer.setting(execution::now()));
    execution::after_call(Op::AlarmSet, 0, Effect::Read);
    let Some(setting) = setting else {
        return sys::libc_result(-EINVAL) as c_int;
    };
    // SAFETY: the caller passes room for a setting.
    unsafe { out.write(setting) };
    0
}

/// libc's `timer_getoverrun`. In virtual time each expiry is handled, so there are no overruns.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_getoverrun(id: *mut c_void) -> c_int {
    match index_of(id) {
        Some(index) if timer(index).is_some() => 0,
        Some(_) => sys::libc_result(-EINVAL) as c_int,
        // SAFETY: the caller's argument.
        None => unsafe { real::timer_getoverrun(id) },
    }
}

/// libc's `timer_delete`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_delete(id: *mut c_void) -> c_int {
    let Some(index) = index_of(id) else {
        // SAFETY: the caller's argument.
        return unsafe { real::timer_delete(id) };
    };
    execution::before_call(Op::AlarmSet, 0);
    let task = timer(index).map(|timer| {
        timer.is_deleted = true;
        timer.sleeper.take()
    });
    if let Some(Some(task)) = task {
        execution::stop_forever(task);
    }
    execution::after_call(Op::AlarmSet, 0, Effect::Write);
    let result = if task.is_some() { 0 } else { -EINVAL };
    sys::libc_result(result) as c_int
}
