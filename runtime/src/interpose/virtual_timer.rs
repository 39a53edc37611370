//! Timers in virtual time: the alarm of the process, and the timers of `timer_create`. A separate
//! task sleeps until a timer expires. Then it handles the signal of the timer, or starts a task
//! that calls the function of the timer.
//!
//! In a process of `cargo test`, the kernel delivers the signal to the first thread. This thread
//! belongs to the harness, and the threads of the test continue during the handler. The separate
//! task has the same effect. The search chooses the moment of an expiry, as for any other sleep.
//!
//! This is different if the signal has the default action, which ends the process. A test may set
//! such a timer as a safeguard against a hang, and must not fail because of it. So the expiry is
//! postponed while another task can continue without a timeout. After that, the signal is sent if a
//! task waits in `pause` or `sigsuspend`. Otherwise the tasks are in a deadlock, and the report of
//! the deadlock says more than the end of the process.

use core::ffi::{c_int, c_void};

use super::disposition::{SIG_DFL, signals};
use super::{disposition, signal, wait_signal};
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::execution::{self, Effect, Op, TaskId};

pub(super) const SIGALRM: c_int = 14;
/// A second in nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;
/// The index of the alarm of the process.
pub(super) const ALARM: usize = 0;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<VirtualTimers> = Place::after(&disposition::PLACE);

/// The timers of an execution. The first one is the alarm of the process. The list is empty while
/// no timer has been used.
pub(crate) struct VirtualTimers(EngineVec<Timer>);

struct Timer {
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
pub(super) enum Notification {
    Nothing,
    /// The signal of the alarm.
    Alarm,
    Signal {
        signal: c_int,
        value: usize,
    },
    Call {
        function: Function,
        value: usize,
    },
}

/// The function of a timer with `SIGEV_THREAD`, which gets the value of the timer.
pub(super) type Function = unsafe extern "C" fn(usize);

/// The times of a timer, in virtual nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// The time until the next expiry; 0 if the timer is not set.
    pub(super) left: u64,
    /// The time between expiries; 0 if there is only one.
    pub(super) interval: u64,
}

impl VirtualTimers {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    /// Removes all timers, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Timer {
    const fn new(notification: Notification) -> Self {
        Self {
            notification,
            due: None,
            interval: 0,
            sleeper: None,
            settings: 0,
            is_deleted: false,
        }
    }

    /// The times of the timer at the time `now`.
    fn times(&self, now: u64) -> Times {
        let interval = self.interval;
        let left = match self.due {
            Some(due) if due > now => due - now,
            // No task counts the expiries of a timer without a notification.
            Some(due) if matches!(self.notification, Notification::Nothing) => {
                let late = (now - due).checked_rem(interval);
                late.map_or(0, |late| interval - late)
            }
            // The task of the timer is about to run.
            Some(_) => 1,
            None => 0,
        };
        Times { left, interval }
    }

    /// The signal that each expiry sends, if it sends one.
    fn signal(&self) -> Option<c_int> {
        match self.notification {
            Notification::Alarm => Some(SIGALRM),
            Notification::Signal { signal, .. } => Some(signal),
            Notification::Nothing | Notification::Call { .. } => None,
        }
    }

    /// The name of the task that waits for the expiries.
    fn name(&self) -> &'static str {
        match self.notification {
            Notification::Alarm => "alarm",
            _ => "timer",
        }
    }
}

fn timers() -> &'static mut EngineVec<Timer> {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    let timers = unsafe { &mut (*PLACE.get()).0 };
    if timers.is_empty() {
        timers.push(Timer::new(Notification::Alarm));
    }
    timers
}

/// The timer with this index, unless it was deleted.
fn timer(index: usize) -> Option<&'static mut Timer> {
    timers().get_mut(index).filter(|timer| !timer.is_deleted)
}

/// The number of timers, including deleted ones and the alarm.
pub(super) fn count() -> usize {
    timers().len()
}

/// Adds a timer that is not set. Its index is the former [`count`].
pub(super) fn add(notification: Notification) {
    timers().push(Timer::new(notification));
}

/// Sets the timer with this index, or stops it. `due` gets the current time and returns the time of
/// the first expiry, or `None` to stop the timer. Returns the former times; `None` if there is no
/// such timer.
pub(super) fn set(
    index: usize,
    interval: u64,
    due: impl FnOnce(u64) -> Option<u64>,
) -> Option<Times> {
    execution::before_call(Op::AlarmSet, 0);
    let now = execution::now();
    let Some(timer) = timer(index) else {
        execution::after_call(Op::AlarmSet, 0, Effect::Read);
        return None;
    };
    let before = timer.times(now);
    timer.interval = interval;
    timer.due = due(now);
    timer.settings += 1;
    let setting = Setting {
        index,
        number: timer.settings,
    };
    let has_task = timer.due.is_some() && !matches!(timer.notification, Notification::Nothing);
    let name = timer.name();
    if let Some(task) = timer.sleeper.take() {
        execution::stop_forever(task);
    }
    execution::after_call(Op::AlarmSet, 0, Effect::Write);
    if has_task {
        let task = execution::spawn_pthread(wait_for_expiry, setting.argument(), 0);
        execution::detach_and_name(task, name);
        if let Some(timer) = setting.timer() {
            timer.sleeper = Some(task);
        }
    }
    Some(before)
}

/// Returns the times of the timer with this index; `None` if there is no such timer.
pub(super) fn look(index: usize) -> Option<Times> {
    execution::before_call(Op::AlarmSet, 0);
    let times = timer(index).map(|timer| timer.times(execution::now()));
    execution::after_call(Op::AlarmSet, 0, Effect::Read);
    times
}

/// Whether there is a timer with this index.
pub(super) fn exists(index: usize) -> bool {
    timer(index).is_some()
}

/// Deletes the timer with this index. Returns whether there was such a timer.
pub(super) fn delete(index: usize) -> bool {
    execution::before_call(Op::AlarmSet, 0);
    let sleeper = timer(index).map(|timer| {
        timer.is_deleted = true;
        timer.sleeper.take()
    });
    if let Some(Some(task)) = sleeper {
        execution::stop_forever(task);
    }
    execution::after_call(Op::AlarmSet, 0, Effect::Write);
    sleeper.is_some()
}

/// One setting of a timer, for the task that waits for its expiries.
#[derive(Clone, Copy)]
struct Setting {
    /// The index of the timer.
    index: usize,
    /// The number of the setting, from 1.
    number: u32,
}

impl Setting {
    fn argument(self) -> *mut c_void {
        core::ptr::without_provenance_mut(self.index | (self.number as usize) << u32::BITS)
    }

    fn from_argument(argument: *mut c_void) -> Self {
        Self {
            index: argument.addr() & u32::MAX as usize,
            number: (argument.addr() >> u32::BITS) as u32,
        }
    }

    /// The timer, unless it was deleted or set again: the handler of its signal may do this.
    fn timer(self) -> Option<&'static mut Timer> {
        timer(self.index).filter(|timer| timer.settings == self.number)
    }
}

/// The function of the task that waits for the expiries of a timer. The argument is that of a
/// [`Setting`].
unsafe extern "C" fn wait_for_expiry(argument: *mut c_void) -> *mut c_void {
    let setting = Setting::from_argument(argument);
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

/// The effect of the expiry of a timer that sends a signal.
enum Expiry {
    /// The timer sends its signal.
    Sends,
    /// The signal would end the process while other tasks can continue.
    IsPostponed,
    /// The signal would end the process in a deadlock: see the comment of this file.
    IsDeadlock,
}

/// The effect of an expiry, at this moment, of a timer that sends `signal`.
fn expiry(signal: c_int) -> Expiry {
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

/// Handles the expiry of a timer at the time `due`. Returns whether it will expire again.
fn expires(setting: Setting, due: u64) -> bool {
    let Some(timer) = setting.timer() else {
        return false;
    };
    timer.sleeper = None;
    match timer.signal().map(expiry) {
        None | Some(Expiry::Sends) => {}
        Some(Expiry::IsPostponed) => {
            timer.due = Some(execution::now() + SECOND);
            return true;
        }
        Some(Expiry::IsDeadlock) => {
            timer.due = None;
            return false;
        }
    }
    let (notification, interval) = (timer.notification, timer.interval);
    timer.due = (interval > 0).then(|| due.saturating_add(interval));
    match notification {
        Notification::Nothing => {}
        Notification::Alarm => signal::send_alarm(SIGALRM),
        Notification::Signal { signal, value } => signal::send_timer(signal, value),
        Notification::Call { .. } => {
            let task = execution::spawn_pthread(call, setting.argument(), 0);
            execution::detach_and_name(task, "timer call");
        }
    }
    interval > 0
}

/// The function of a task that calls the function of a timer. The argument is that of a
/// [`Setting`].
unsafe extern "C" fn call(argument: *mut c_void) -> *mut c_void {
    let timer = timers().get(Setting::from_argument(argument).index);
    let notification = timer.map(|timer| timer.notification);
    if let Some(Notification::Call { function, value }) = notification {
        // SAFETY: the program has passed this function for such calls.
        unsafe { function(value) };
    }
    core::ptr::null_mut()
}
