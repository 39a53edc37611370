//! Handlers of signals from outside the process, for instance of SIGCHLD when a child ends.
//!
//! The kernel would run such a handler at any moment, also within the engine, and no schedule could
//! repeat that. So the kernel gets a handler of the runtime, which only records the arrival. A
//! separate task runs the program's handler. Like all answers from outside, a signal is slower than
//! every task: it arrives when no task can run. In a process of `cargo test`, the kernel delivers
//! signals to a thread of the harness, so the threads of a test continue during the handler, too.
//!
//! Only child processes are expected to send signals. The program's handlers stay in the kernel
//! until a task starts a child.

use core::ffi::{c_int, c_void};

use super::disposition::{COUNT, Disposition, SA_NOCLDSTOP, SA_RESTART, SIG_IGN, bit, signals};
use super::signal::{self, Info, SA_RESETHAND};
use super::wait_signal;
use crate::base::sys::SA_SIGINFO;
use crate::execution::{self, ARRIVALS, Effect, Op, arrivals, opaque};

/// The signals whose handlers stay in the kernel. The kernel sends SIGILL, SIGTRAP, SIGABRT,
/// SIGBUS, SIGFPE, SIGSEGV and SIGSYS to a thread because of what the thread does. The signals 32
/// and 33 belong to glibc.
const LEFT: [c_int; 9] = [4, 5, 6, 7, 8, 11, 31, 32, 33];
const SIGCHLD: c_int = 17;

/// Must be called before a task starts a child. From now on, signals from outside are handled
/// by a task.
pub(super) fn child_starts() {
    if signals().caught.process != 0 || !arrivals().open() {
        return;
    }
    signals().caught.process = signal::own_process();
    for signal in 1..=COUNT as c_int {
        catch(signal);
    }
    start_task();
}

/// Must be called after a task has set the action for `signal` in the kernel.
pub(super) fn action_set(signal: c_int) {
    if signals().caught.process == 0 {
        return;
    }
    signals().caught.forget(signal);
    catch(signal);
    start_task();
}

/// If the kernel has a handler of the program for `signal`, replaces it by that of the runtime.
fn catch(signal: c_int) {
    if LEFT.contains(&signal) {
        return;
    }
    let Some(action) = Disposition::of(signal).filter(|action| action.handler > SIG_IGN) else {
        return;
    };
    if signal == SIGCHLD {
        execution::earlier_ends_are_signalled();
    }
    signals().remember(signal);
    signals().caught.actions.push((signal, action));
    arrivals().catch(bit(signal), true);
    let mut own = action;
    own.handler = record as *const () as usize;
    // The engine stops the children. With `SA_NOCLDSTOP`, the kernel sends no SIGCHLD for these
    // stops.
    let added = (SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP).cast_unsigned();
    own.flags = action.flags & !SA_RESETHAND | u64::from(added);
    own.mask = u64::MAX;
    own.put(signal);
}

/// The handler in the kernel. It runs at any moment, on any thread.
extern "C" fn record(signal: c_int, info: *mut Info, context: *mut c_void) {
    let caught = &raw mut signals().caught;
    // SAFETY: the process is set before the first handler. The kernel passes the information. Each
    // place of `arrived` has one user at a time: see `Arrivals`.
    unsafe {
        if (*caught).process == signal::own_process() {
            arrivals().add(bit(signal), || {
                (&raw mut (*caught).arrived[signal as usize - 1]).write(*info);
            });
            return;
        }
        // This process was forked from that of the tasks, and is not under control.
        if let Some(action) = (*caught).action(signal) {
            let handler: extern "C" fn(c_int, *mut Info, *mut c_void) =
                core::mem::transmute(action.handler);
            handler(signal, info, context);
        }
    }
}

/// Starts the task that handles signals, if the program has a handler and there is no such task.
fn start_task() {
    let caught = &mut signals().caught;
    if caught.actions.is_empty() || caught.has_task {
        return;
    }
    caught.has_task = true;
    let task = execution::spawn_pthread(handle_arrivals, core::ptr::null_mut(), 0);
    execution::detach_and_name(task, "signals");
}

/// The function of the task that handles signals from outside.
unsafe extern "C" fn handle_arrivals(_: *mut c_void) -> *mut c_void {
    loop {
        execution::touch(ARRIVALS, Effect::Write);
        opaque::sleep(Op::SignalWait, ARRIVALS, None);
        handle_granted();
    }
}

/// Must be called after a task has changed the mask of blocked signals. Handles the signals that
/// tasks sent while these signals were blocked, and that the kernel has delivered now.
pub(super) fn mask_changed() {
    if signals().caught.process != 0 {
        arrivals().grant(|signal| {
            let info = &signals().caught.arrived[signal as usize - 1];
            signal::is_sent_by_own_process(info)
        });
        handle_granted();
    }
}

/// Runs the handlers of the arrived signals that tasks may handle now.
fn handle_granted() {
    let load = |signal: u32| {
        let info = signals().caught.arrived[signal as usize - 1];
        (signal.cast_signed(), info)
    };
    while let Some((signal, info)) = arrivals().take(load) {
        if signals().is_blocked(signal) {
            signals().pend(signal, &info);
            wait_signal::pending();
        } else {
            signal::handle(signal, &info);
            wait_signal::handled();
        }
    }
}
