//! What the locks of C code share: try the real one, and wait while it is taken.
//!
//! glibc's own functions block through system calls inside libc, which nobody
//! can interpose. So a lock is only ever tried: libc keeps its state, and with
//! it what its kind means (recursive, checked, robust), and the waiting is the
//! engine's. The task's kernel thread, as libc knows it, is its donor's.

use core::ffi::c_int;

use crate::base::sys::{self, timespec};
use crate::execution::{self, Effect, Op, Wake, opaque};

/// A lock of C code.
#[derive(Clone, Copy)]
pub(super) struct Lock {
    /// Where it lies.
    pub(super) object: usize,
    /// One task at a time holds it: reports name which one.
    pub(super) exclusive: bool,
}

impl Lock {
    /// Takes it by `attempt`, which says `EBUSY` while it is taken. `deadline`
    /// is asked for where it has to wait; an error there is returned.
    pub(super) fn take(
        self,
        op: Op,
        attempt: impl Fn() -> c_int,
        deadline: impl FnOnce() -> Result<Option<u64>, c_int>,
    ) -> c_int {
        opaque::arrive(op, self.object);
        let mut result = attempt();
        if result == sys::EBUSY {
            let deadline = match deadline() {
                Ok(deadline) => deadline,
                Err(error) => return error,
            };
            while result == sys::EBUSY {
                if opaque::sleep(op, self.object, deadline) == Wake::TimedOut {
                    opaque::record(op, self.object, Effect::Read);
                    return sys::ETIMEDOUT;
                }
                result = attempt();
            }
        }
        self.note(op, result);
        result
    }

    /// Takes it by `attempt`, or does without.
    pub(super) fn try_take(self, op: Op, attempt: impl FnOnce() -> c_int) -> c_int {
        opaque::arrive_to_try(op, self.object);
        let result = attempt();
        if result == sys::EBUSY {
            opaque::failed_to_take(op, self.object);
        } else {
            self.note(op, result);
        }
        result
    }

    fn note(self, op: Op, result: c_int) {
        let taken = matches!(result, 0 | sys::EOWNERDEAD);
        if taken && self.exclusive {
            opaque::own(self.object);
        }
        let effect = if taken { op.effect() } else { Effect::Read };
        opaque::record(op, self.object, effect);
    }

    /// Gives it back by `release`, which says whether it is free then, and wakes
    /// whoever waits for it.
    pub(super) fn give_back(self, op: Op, release: impl FnOnce() -> Result<bool, c_int>) -> c_int {
        opaque::arrive(op, self.object);
        let result = release();
        if result == Ok(true) {
            self.released();
        }
        let effect = match (&result, self.exclusive) {
            (Ok(_), true) => Effect::Release,
            (Ok(_), false) => Effect::Leave,
            (Err(_), _) => Effect::Read,
        };
        opaque::record(op, self.object, effect);
        result.err().unwrap_or(0)
    }

    /// It was given back: whoever waits for it tries again.
    pub(super) fn released(self) {
        if self.exclusive {
            execution::disown(self.object);
        }
        execution::wake_all(self.object);
    }
}

/// No deadline.
pub(super) const FOR_EVER: Result<Option<u64>, c_int> = Ok(None);

/// The moment that `time` names. Every clock of a task shows the same time.
///
/// # Errors
/// `EINVAL` where it is no time.
///
/// # Safety
/// `time` must be readable.
pub(super) unsafe fn moment(time: *const timespec) -> Result<Option<u64>, c_int> {
    // SAFETY: the caller's promise.
    let time = unsafe { *time };
    if time.is_valid() {
        Ok(Some(time.nanos()))
    } else {
        Err(sys::EINVAL)
    }
}

/// Whether libc's functions that are given a clock take this one.
pub(super) fn is_clock(clock: c_int) -> bool {
    const REALTIME: c_int = 0;
    const MONOTONIC: c_int = 1;
    matches!(clock, REALTIME | MONOTONIC)
}
