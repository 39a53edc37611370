//! `epoll`: the kernel keeps the lists of events, and the engine parks a task that must wait.

use core::ffi::{c_int, c_void};

use super::call::{admit, wait_for};
use super::{time as clock, timerfd};
use crate::base::sys::{self, number, timespec};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor::{self, POLLIN, PollEntry};

/// C's `struct epoll_event` is packed.
const EVENT_SIZE: usize = 12;

/// Waits for events as a task, for at most `time` of virtual time (`None`: without limit). Returns
/// the number of events.
fn wait(epoll: c_int, events: *mut c_void, most: c_int, time: Option<u64>) -> isize {
    admit(
        events as usize,
        EVENT_SIZE * usize::try_from(most).unwrap_or(0),
    );
    let object = execution::descriptor_object(epoll, descriptor::look(epoll));
    execution::before_call(Op::EpollWait, object);
    let deadline = time.map(|time| execution::now().saturating_add(time));
    let arguments = [epoll as usize, events as usize, most as usize, 0, 0, 0];
    loop {
        timerfd::fire();
        // SAFETY: the caller's arguments are those of the system call.
        let ready = unsafe { sys::syscall(number::EPOLL_WAIT, arguments) };
        let is_over = deadline.is_some_and(|deadline| deadline <= execution::now());
        if ready != 0 || is_over {
            // The call consumes events that are reported only once (edge-triggered or one-shot).
            let effect = if ready > 0 {
                Effect::Write
            } else {
                Effect::Read
            };
            execution::after_call(Op::EpollWait, object, effect);
            return ready;
        }
        let mut entries = [PollEntry::new(epoll, POLLIN)];
        wait_for(Op::EpollWait, object, &mut entries, deadline, false);
    }
}

fn nanos(milliseconds: c_int) -> Option<u64> {
    Some(u64::try_from(milliseconds).ok()? * 1_000_000)
}

/// libc's `epoll_pwait`. If the caller is a task, the mask `signals` is ignored.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    milliseconds: c_int,
    signals: *const c_void,
) -> c_int {
    let result = if active() {
        wait(epoll, events, most, nanos(milliseconds))
    } else {
        let (most, milliseconds) = (most as usize, milliseconds as usize);
        let arguments = [
            epoll as usize,
            events as usize,
            most,
            milliseconds,
            signals as usize,
            8,
        ];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::EPOLL_PWAIT, arguments) }
    };
    sys::libc_result(result) as c_int
}

/// libc's `epoll_wait`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    milliseconds: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { epoll_pwait(epoll, events, most, milliseconds, core::ptr::null()) }
}

/// libc's `epoll_pwait2`. If the caller is a task, the mask `signals` is ignored.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    time: *const timespec,
    signals: *const c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    let result = unsafe {
        if active() {
            match clock::limit(time.as_ref()) {
                Ok(time) => wait(epoll, events, most, time),
                Err(error) => error,
            }
        } else {
            let (time, signals) = (time as usize, signals as usize);
            let arguments = [
                epoll as usize,
                events as usize,
                most as usize,
                time,
                signals,
                8,
            ];
            sys::syscall(number::EPOLL_PWAIT2, arguments)
        }
    };
    sys::libc_result(result) as c_int
}

/// libc's `epoll_ctl`. The call can make events available at once to a task that waits for
/// `epoll`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut c_void,
) -> c_int {
    let arguments = [
        epoll as usize,
        operation as usize,
        descriptor as usize,
        event as usize,
        0,
        0,
    ];
    let is_task = active();
    let object = if is_task {
        let object = execution::descriptor_object(epoll, descriptor::look(epoll));
        execution::before_call(Op::EpollControl, object);
        object
    } else {
        0
    };
    // SAFETY: the caller's arguments are those of the system call.
    let result = unsafe { sys::syscall(number::EPOLL_CTL, arguments) };
    if is_task {
        execution::after_call(Op::EpollControl, object, Effect::Write);
    }
    sys::libc_result(result) as c_int
}
