//! Threads that code other than our shims starts: they become tasks.

use core::ffi::{CStr, c_char, c_int, c_void};

use super::super::sys::{self, ThreadStart, number, pthread_attr_t, pthread_t, stack_t};
use super::real;
use crate::engine::engine;
use crate::execution::{self, State, TaskId, active};

/// The task behind a pthread handle that the program holds.
fn task_of(thread: pthread_t) -> Option<TaskId> {
    let execution = execution::running()?;
    // SAFETY: see `execution::running`.
    unsafe {
        let pool = &(*engine()).pool;
        (*execution)
            .live_tasks()
            .filter(|(_, task)| !task.released && task.donor != execution::Task::NO_DONOR)
            .find(|(_, task)| pool.get(task.donor).pthread == thread)
            .map(|(id, _)| id)
    }
}

/// libc's `pthread_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: ThreadStart,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_create(thread, attributes, start, argument);
        };
        let mut stack = 0;
        if !attributes.is_null() {
            sys::pthread_attr_getstacksize(attributes, &raw mut stack);
        }
        let task = execution::spawn_pthread(start, argument, stack);
        *thread = (*engine()).pool.get((*execution).task(task).donor).pthread;
    }
    0
}

/// libc's `pthread_join`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_join(thread, result);
        };
        let Some(task) = task_of(thread) else {
            return sys::ESRCH;
        };
        execution::join_from(task, None);
        let joined = (*execution).task_mut(task);
        joined.released = true;
        if !result.is_null() {
            *result = joined.result;
        }
    }
    0
}

/// libc's `pthread_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_detach(thread);
        };
        let Some(task) = task_of(thread) else {
            return sys::ESRCH;
        };
        // A detached task that still runs keeps its handle valid; one that has
        // ended is gone.
        if (*execution).task(task).state == State::Finished {
            (*execution).task_mut(task).released = true;
        }
    }
    0
}

/// libc's `pthread_setname_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::pthread_setname_np(thread, name);
        };
        if let Some(task) = task_of(thread) {
            let task = (*execution).task_mut(task);
            task.name.clear();
            task.name.extend_from_slice(CStr::from_ptr(name).to_bytes());
        }
    }
    0
}

/// libc's `pthread_getattr_np`.
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
        let donor = (*engine()).pool.get((*execution).running().donor);
        sys::pthread_attr_init(attributes);
        sys::pthread_attr_setstack(attributes, donor.stack_low as *mut c_void, donor.stack_size);
        sys::pthread_attr_setguardsize(attributes, donor.guard_size);
    }
    0
}

/// libc's `sigaltstack`: the alternate stack belongs to the kernel thread, which
/// tasks share, so they may read it but not change it.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let arguments = [new as usize, old as usize, 0, 0, 0, 0];
            return sys::libc_result(sys::syscall(number::SIGALTSTACK, arguments)) as c_int;
        }
        if !old.is_null() {
            sys::syscall(number::SIGALTSTACK, [0, old as usize, 0, 0, 0, 0]);
            // Said to be in use, so that nobody frees it.
            (*old).flags = 0;
        }
    }
    0
}
