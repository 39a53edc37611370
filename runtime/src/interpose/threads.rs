//! Threads of code that uses pthreads, not the shims: they become tasks.

use core::ffi::{c_int, c_void};

use chess_vocabulary::OutsideEffect;

use super::locks::{is_clock, moment};
use crate::base::real;
use crate::base::sys::{self, ThreadStart, pthread_attr_t, pthread_t, timespec};
use crate::execution::{self, State, TaskId, Wake, active, opaque};
use crate::platform::stack_pool::pool;

/// Returns the task of the pthread handle `thread`. `None` if the handle belongs to no task, or
/// was released: by a join, or by a detach of an ended task.
pub(super) fn task_of(thread: pthread_t) -> Option<TaskId> {
    execution::with(|it| {
        // SAFETY: one thread at a time runs code of the engine, and this borrow ends here.
        let pool = unsafe { &*pool() };
        it.live_tasks()
            .filter(|(_, task)| !task.released && task.donor != execution::Task::NO_DONOR)
            .find(|(_, task)| pool.get(task.donor).pthread == thread)
            .map(|(id, _)| id)
    })
    .flatten()
}

/// libc's `pthread_create`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: ThreadStart,
    argument: *mut c_void,
) -> c_int {
    const DETACHED: c_int = 1;
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_create(thread, attributes, start, argument);
        };
        let (mut stack, mut detached) = (0, 0);
        if !attributes.is_null() {
            sys::pthread_attr_getstacksize(attributes, &raw mut stack);
            sys::pthread_attr_getdetachstate(attributes, &raw mut detached);
        }
        let task = execution::spawn_pthread(start, argument, stack);
        let donor = execution.with(|it| {
            let task = it.task_mut(task);
            task.detached = detached == DETACHED;
            task.donor
        });
        *thread = (*pool()).get(donor).pthread;
    }
    0
}

/// Returns the task of `thread`. Returns an error number if the caller must not join this task.
fn joinable(thread: pthread_t) -> Result<TaskId, c_int> {
    let task = task_of(thread).ok_or(sys::ESRCH)?;
    if task == execution::current() {
        return Err(sys::EDEADLK);
    }
    let detached = execution::with(|it| it.task(task).detached).unwrap_or(false);
    if detached { Err(sys::EINVAL) } else { Ok(task) }
}

/// Waits for the end of the task of `thread`, at most until `deadline`, and stores its result at
/// `result`. Returns 0, or an error number.
unsafe fn join(thread: pthread_t, result: *mut *mut c_void, deadline: Option<u64>) -> c_int {
    let task = match joinable(thread) {
        Ok(task) => task,
        Err(error) => return error,
    };
    if opaque::join(task, deadline) == Wake::TimedOut {
        return sys::ETIMEDOUT;
    }
    // SAFETY: the caller passes null or room for a result.
    unsafe { joined(task, result) };
    0
}

/// Stores the result of an ended task at `result` unless this is null, and releases the handle of
/// the task.
unsafe fn joined(task: TaskId, result: *mut *mut c_void) {
    let value = execution::with(|it| {
        let task = it.task_mut(task);
        task.released = true;
        task.result
    });
    if let Some(value) = value
        && !result.is_null()
    {
        // SAFETY: `result` is writable.
        unsafe { *result = value };
    }
}

/// libc's `pthread_join`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_join(thread, result);
        }
        join(thread, result, None)
    }
}

/// libc's `pthread_tryjoin_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_tryjoin_np(thread, result);
        }
        match joinable(thread) {
            Ok(task) if opaque::has_ended(task) => {
                joined(task, result);
                0
            }
            Ok(_) => sys::EBUSY,
            Err(error) => error,
        }
    }
}

/// libc's `pthread_timedjoin_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_timedjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_timedjoin_np(thread, result, time);
        }
        match moment(time) {
            Ok(deadline) => join(thread, result, deadline),
            Err(error) => error,
        }
    }
}

/// libc's `pthread_clockjoin_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_clockjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_clockjoin_np(thread, result, clock, time);
        }
        if !is_clock(clock) {
            return sys::EINVAL;
        }
        pthread_timedjoin_np(thread, result, time)
    }
}

/// libc's `pthread_detach`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_detach(thread);
        };
        let Some(task) = task_of(thread) else {
            return sys::ESRCH;
        };
        execution.with(|it| {
            let task = it.task_mut(task);
            if task.detached {
                return sys::EINVAL;
            }
            // A task that still runs keeps its handle until it ends.
            task.detached = true;
            task.released = task.state == State::Finished;
            0
        })
    }
}

/// libc's `pthread_cancel`. If the caller is a task, the call fails, and the report has a note.
/// glibc's function would end the donor, the thread that lends its stack to the task.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cancel(thread: pthread_t) -> c_int {
    if !active() {
        // SAFETY: the caller's argument is that of the real function.
        return unsafe { real::pthread_cancel(thread) };
    }
    execution::note_outside(OutsideEffect::Cancellation);
    sys::ENOSYS
}

/// libc's `pthread_getattr_np`. For a `thread` that is not a task, the attributes are those of the
/// calling task.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(
    thread: pthread_t,
    attributes: *mut pthread_attr_t,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_getattr_np(thread, attributes);
        };
        let task = task_of(thread);
        let donor = execution.with(|it| match task {
            Some(task) => it.task(task).donor,
            None => it.running().donor,
        });
        let donor = (*pool()).get(donor);
        sys::pthread_attr_init(attributes);
        sys::pthread_attr_setstack(attributes, donor.stack_low as *mut c_void, donor.stack_size);
        sys::pthread_attr_setguardsize(attributes, donor.guard_size);
    }
    0
}
