//! Common parts of the locks of C code: a task tries the real lock, and waits in the engine while
//! the lock is held.
//!
//! glibc's own functions block through system calls inside libc, which cannot be interposed. So
//! the runtime calls only the functions that try a lock, and the engine parks the waiting tasks.
//! libc keeps the state of the lock, so each kind of lock (recursive, checked, robust) has its own
//! semantics. The owner that libc records is the kernel thread of the donor, which lends its stack
//! to the task.

use core::ffi::c_int;

use crate::base::sys::{self, timespec};
use crate::execution::{self, Effect, Op, Wake, opaque};

/// A lock of C code.
#[derive(Clone, Copy)]
pub(super) struct Lock {
    /// The address of the lock.
    pub(super) object: usize,
    /// Whether only one task at a time holds the lock. If so, reports name the holder.
    pub(super) exclusive: bool,
}

impl Lock {
    /// Acquires the lock by `attempt`, which returns `EBUSY` while the lock is held. `deadline`
    /// returns the end of the wait, and is called only if the task has to wait. Returns 0 or an
    /// error number, which may be an error of `deadline`.
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

    /// Tries to acquire the lock by `attempt`, without waiting.
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

    /// Releases the lock by `release`, which returns whether the lock is free afterwards. If the
    /// lock is free, wakes all waiting tasks.
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

    /// Must be called after the lock has become free. Wakes the waiting tasks, which try to
    /// acquire the lock again.
    pub(super) fn released(self) {
        if self.exclusive {
            execution::disown(self.object);
        }
        execution::wake_all(self.object);
    }
}

/// The result of a function that returns a deadline, if there is no deadline.
pub(super) const FOR_EVER: Result<Option<u64>, c_int> = Ok(None);

/// The point in time that `time` specifies, in virtual nanoseconds. The clock does not matter:
/// every clock of a task shows the same time.
///
/// # Errors
/// `EINVAL` if `time` is not valid.
///
/// # Safety
/// `time` must be readable.
pub(super) unsafe fn moment(time: *const timespec) -> Result<Option<u64>, c_int> {
    // SAFETY: the caller ensures that `time` is readable.
    let time = unsafe { *time };
    if time.is_valid() {
        Ok(Some(time.nanos()))
    } else {
        Err(sys::EINVAL)
    }
}

/// Whether libc's functions with a clock argument accept this clock.
pub(super) fn is_clock(clock: c_int) -> bool {
    const REALTIME: c_int = 0;
    const MONOTONIC: c_int = 1;
    matches!(clock, REALTIME | MONOTONIC)
}
