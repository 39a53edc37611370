//! `pause`, `sigsuspend` and `sigwait`, which park the task until a signal comes, and
//! `sigpending`.

use core::ffi::{c_int, c_void};

use super::call::admit;
use super::disposition::signals;
use super::signal::{self, Info};
use super::time as clock;
use crate::base::sys::{self, number, timespec};
use crate::execution::{self, Effect, Op, State, Wake, active, opaque};

/// The address at which tasks wait until a handler of a signal has run. No object of the program
/// lies at this address.
const HANDLED: usize = 40;
/// The address at which tasks wait for a pending signal. No object of the program lies at this
/// address.
const PENDING: usize = 48;

/// Wakes one of the tasks that wait for a handler, after a handler has run.
pub(super) fn handled() {
    opaque::wake(HANDLED, false);
}

/// Wakes all tasks that wait for a pending signal: each checks whether the signal is in
/// its set.
pub(super) fn pending() {
    opaque::wake(PENDING, true);
}

/// Records that the running step depends on the mask of blocked signals.
pub(super) fn reads_mask() {
    execution::touch(PENDING, Effect::Read);
}

/// Must be called before a change of the mask of blocked signals. Reaches the scheduling point of
/// the change, and records it. After the change, pending signals may be handled.
pub(super) fn changes_mask() {
    opaque::arrive(Op::SignalMask, PENDING);
    opaque::record(Op::SignalMask, PENDING, Effect::Write);
}

/// Whether a task waits until a handler has run.
pub(super) fn is_awaited() -> bool {
    execution::with(|it| {
        let waits = |op| matches!(op, Op::Pause | Op::SignalSuspend);
        let mut tasks = it.live_tasks();
        tasks.any(|(_, task)| matches!(task.state, State::Blocked(_)) && waits(task.op))
    })
    .unwrap_or(false)
}

/// Waits until a handler has run.
fn await_handler(op: Op) -> c_int {
    execution::touch(HANDLED, Effect::Write);
    opaque::sleep(op, HANDLED, None);
    opaque::record(op, HANDLED, Effect::Write);
    sys::libc_failure(sys::EINTR)
}

/// libc's `pause`.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn pause() -> c_int {
    if active() {
        opaque::arrive(Op::Pause, HANDLED);
        return await_handler(Op::Pause);
    }
    // SAFETY: no memory is passed.
    sys::libc_result(unsafe { sys::syscall(number::PAUSE, [0; 6]) }) as c_int
}

/// libc's `sigsuspend`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn sigsuspend(mask: *const u64) -> c_int {
    if !active() {
        // SAFETY: the caller passes a set.
        let result = unsafe { sys::syscall(number::RT_SIGSUSPEND, [mask as usize, 8, 0, 0, 0, 0]) };
        return sys::libc_result(result) as c_int;
    }
    opaque::arrive(Op::SignalSuspend, HANDLED);
    // SAFETY: the caller passes a set.
    let mask = unsafe { *mask };
    let before = core::mem::replace(&mut signals().blocked, mask);
    execution::touch(PENDING, Effect::Write);
    let mut information: Info = [0; 16];
    let result = match take(before & !mask, (&raw mut information).cast()) {
        Some(signal) => {
            opaque::record(Op::SignalSuspend, HANDLED, Effect::Write);
            signal::handle(signal, &information);
            sys::libc_failure(sys::EINTR)
        }
        None => await_handler(Op::SignalSuspend),
    };
    signals().blocked = before;
    result
}

/// Removes and returns a pending signal that is in `set`, first from the signals that the engine
/// keeps, then from those of the kernel. Stores its `information` unless this is null.
fn take(set: u64, information: *mut c_void) -> Option<c_int> {
    if let Some((signal, info)) = signals().take_pending(set) {
        if !information.is_null() {
            // SAFETY: the caller's room is as large as the kernel's structure.
            unsafe { information.cast::<Info>().write_unaligned(info) };
        }
        return Some(signal);
    }
    let (set, no_time) = (&raw const set as usize, [0u64; 2]);
    let time = &raw const no_time as usize;
    let arguments = [set, information as usize, time, 8, 0, 0];
    // SAFETY: a readable set and time; the information is null or the caller's room.
    let signal = unsafe { sys::syscall(number::RT_SIGTIMEDWAIT, arguments) };
    (signal > 0).then_some(signal as c_int)
}

/// Waits until a signal of `set` is pending, for at most `time` of virtual time, and removes this
/// signal. Returns its number, or `EAGAIN` as a negative number. If `time` is 0, does not wait. If
/// `time` is `None`, waits without limit.
fn await_pending(set: u64, information: *mut c_void, time: Option<u64>) -> isize {
    let ends = time == Some(0);
    if ends {
        opaque::arrive_to_try(Op::SignalWait, PENDING);
    } else {
        opaque::arrive(Op::SignalWait, PENDING);
    }
    let deadline = time.map(|time| execution::now().saturating_add(time));
    if !information.is_null() {
        admit(information as usize, size_of::<Info>());
    }
    loop {
        if let Some(signal) = take(set, information) {
            opaque::record(Op::SignalWait, PENDING, Effect::Write);
            return signal as isize;
        }
        if ends {
            opaque::record_look(Op::SignalWait, PENDING);
            return -(sys::EAGAIN as isize);
        }
        execution::touch(PENDING, Effect::Write);
        if opaque::sleep(Op::SignalWait, PENDING, deadline) == Wake::TimedOut {
            opaque::record(Op::SignalWait, PENDING, Effect::Read);
            return -(sys::EAGAIN as isize);
        }
    }
}

/// Waits as [`await_pending`] in a task, and otherwise in the kernel. Returns the number of the
/// signal, or a negative error number.
///
/// # Safety
///
/// The arguments are those of `sigtimedwait`.
unsafe fn wait_for_signal(
    set: *const u64,
    information: *mut c_void,
    time: *const timespec,
) -> isize {
    // SAFETY: the caller passes a set, null or room for information, and null or a time.
    unsafe {
        if active() {
            match clock::limit(time.as_ref()) {
                Ok(time) => await_pending(*set, information, time),
                Err(error) => error,
            }
        } else {
            let arguments = [set as usize, information as usize, time as usize, 8, 0, 0];
            sys::syscall(number::RT_SIGTIMEDWAIT, arguments)
        }
    }
}

/// libc's `sigtimedwait`, and the system call `rt_sigtimedwait`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn sigtimedwait(
    set: *const u64,
    information: *mut c_void,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments.
    sys::libc_result(unsafe { wait_for_signal(set, information, time) }) as c_int
}

/// libc's `sigwaitinfo`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwaitinfo(set: *const u64, information: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { sigtimedwait(set, information, core::ptr::null()) }
}

/// libc's `sigwait`. As in glibc, a handler does not interrupt the wait.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwait(set: *const u64, signal: *mut c_int) -> c_int {
    loop {
        // SAFETY: the caller passes a set.
        let taken = unsafe { wait_for_signal(set, core::ptr::null_mut(), core::ptr::null()) };
        if taken > 0 {
            // SAFETY: the caller passes room for a signal.
            unsafe { *signal = taken as c_int };
            return 0;
        }
        if taken != -(sys::EINTR as isize) {
            return -taken as c_int;
        }
    }
}

/// libc's `sigpending`. The set also has the pending signals that the engine keeps.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn sigpending(set: *mut u64) -> c_int {
    let is_task = active();
    if is_task {
        opaque::arrive_to_try(Op::SignalPending, PENDING);
        admit(set as usize, size_of::<u64>());
    }
    // SAFETY: the caller passes room for a set.
    let result = unsafe { sys::syscall(number::RT_SIGPENDING, [set as usize, 8, 0, 0, 0, 0]) };
    if is_task {
        if result == 0 {
            // SAFETY: as above; the kernel has written the set.
            unsafe { *set |= signals().pending_set() };
        }
        opaque::record_look(Op::SignalPending, PENDING);
    }
    sys::libc_result(result) as c_int
}
