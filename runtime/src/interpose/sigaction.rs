//! `sigaction`, `signal` and the mask of blocked signals.

use core::ffi::{c_int, c_void};

use super::disposition::{Disposition, SA_RESTART, SIG_SETMASK, bit, signals};
use super::{call, outside_signals, wait_signal};
use crate::base::real;
use crate::base::sys::{self, SIGSEGV, number, sigaction_t};
use crate::execution::{self, Effect, Op, active};

const SIG_ERR: usize = usize::MAX;

/// libc's `sigaction`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const sigaction_t,
    old: *mut sigaction_t,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::sigaction(signal, new, old);
        }
        execution::before_call(Op::SignalAction, 0);
        let result = if signal == SIGSEGV {
            change_fault(new, old);
            0
        } else {
            call::admit(old as usize, size_of::<sigaction_t>());
            if !new.is_null() {
                signals().remember(signal);
            }
            let caught = signals().caught.action(signal);
            let result = real::sigaction(signal, new, old);
            if result == 0
                && !old.is_null()
                && let Some(caught) = caught
            {
                old.write(caught.to_libc());
            }
            if result == 0 && !new.is_null() {
                outside_signals::action_set(signal);
            }
            result
        };
        let effect = if new.is_null() {
            Effect::Read
        } else {
            Effect::Write
        };
        execution::after_call(Op::SignalAction, 0, effect);
        result
    }
}

/// Performs a task's `sigaction` for SIGSEGV.
unsafe fn change_fault(new: *const sigaction_t, old: *mut sigaction_t) {
    // SAFETY: the caller passes null or an action, and null or room for one.
    unsafe {
        let before = signals().fault;
        if let Some(new) = new.as_ref() {
            signals().fault = Disposition::from_libc(new);
        }
        if !old.is_null() {
            old.write(before.to_libc());
        }
    }
}

/// libc's `signal`, with its semantics on Linux.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    let mut action = sigaction_t {
        handler,
        mask: [0; 16],
        flags: SA_RESTART,
        restorer: 0,
    };
    let mut old = sigaction_t { ..action };
    action.mask[0] = bit(signal);
    // SAFETY: a valid action, if the caller's handler is one.
    let result = unsafe { sigaction(signal, &raw const action, &raw mut old) };
    if result < 0 { SIG_ERR } else { old.handler }
}

const SIG_BLOCK: usize = 0;
const SIG_UNBLOCK: usize = 1;

/// libc's `pthread_sigmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const u64, old: *mut c_void) -> c_int {
    const SET_SIZE: usize = 128;
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if active() {
            call::admit(old as usize, SET_SIZE);
            if let Some(&set) = new.as_ref() {
                wait_signal::changes_mask();
                let signals = signals();
                if signals.mask.is_none() {
                    let mut mask = 0u64;
                    let at = &raw mut mask as usize;
                    sys::syscall(number::RT_SIGPROCMASK, [SIG_BLOCK, 0, at, 8, 0, 0]);
                    signals.mask = Some(mask);
                }
                match how as usize {
                    SIG_BLOCK => signals.blocked |= set,
                    SIG_UNBLOCK => signals.blocked &= !set,
                    SIG_SETMASK => signals.blocked = set,
                    _ => {}
                }
            }
        }
        let error = real::pthread_sigmask(how, new, old);
        if active() && !new.is_null() {
            outside_signals::mask_changed();
        }
        error
    }
}

/// libc's `sigprocmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const u64, old: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    let error = unsafe { pthread_sigmask(how, new, old) };
    sys::libc_failure(error)
}
