//! Attributes of a thread in the kernel that each task has for itself: its name, and its alternate
//! stack for signals.

use core::ffi::{CStr, c_char, c_int};

use super::threads::task_of;
use crate::base::real;
use crate::base::sys::{self, number, pthread_t, stack_t};
use crate::execution::{self, TaskId, active};

/// The size of a name with its final zero.
const NAME_SIZE: usize = 16;

/// The task of `thread`. The caller is a task.
fn task(thread: pthread_t) -> Option<TaskId> {
    // SAFETY: no arguments.
    if thread == unsafe { sys::pthread_self() } {
        Some(execution::current())
    } else {
        task_of(thread)
    }
}

fn set_name(task: TaskId, name: &[u8]) {
    execution::with(|it| {
        let task = it.task_mut(task);
        task.name.clear();
        task.name.extend_from_slice(name);
    });
}

/// The name of a task, as the kernel would keep it. `None` if the task has no name of its own. Such
/// a thread has the name of the thread that started it.
fn name_of(task: TaskId) -> Option<[u8; NAME_SIZE]> {
    execution::with(|it| {
        let known = &it.task_mut(task).name;
        let length = known.len().min(NAME_SIZE - 1);
        let mut name = [0; NAME_SIZE];
        name[..length].copy_from_slice(&known[..length]);
        (length > 0).then_some(name)
    })
    .flatten()
}

/// libc's `pthread_setname_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_setname_np(thread, name);
        }
        let name = CStr::from_ptr(name).to_bytes();
        if name.len() >= NAME_SIZE {
            return sys::ERANGE;
        }
        if let Some(task) = task(thread) {
            set_name(task, name);
        }
    }
    0
}

/// libc's `pthread_getname_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(thread: pthread_t, out: *mut c_char, size: usize) -> c_int {
    // SAFETY: the caller's arguments are those of the real function, with room for `size` bytes.
    unsafe {
        let name = active().then(|| task(thread).and_then(name_of)).flatten();
        let Some(name) = name else {
            return real::pthread_getname_np(thread, out, size);
        };
        if size < NAME_SIZE {
            return sys::ERANGE;
        }
        out.cast::<[u8; NAME_SIZE]>().write_unaligned(name);
    }
    0
}

/// Sets (`PR_SET_NAME`) or reads (`PR_GET_NAME`) the name of the running task for its `prctl`.
/// Returns `None` outside of an execution, for all other options, and for `PR_GET_NAME` if the task
/// has no name of its own. Then the caller makes the system call.
///
/// # Safety
/// The arguments are those of `prctl`.
pub(super) unsafe fn prctl(option: c_int, name: usize) -> Option<c_int> {
    const PR_SET_NAME: c_int = 15;
    const PR_GET_NAME: c_int = 16;
    if !active() || !matches!(option, PR_SET_NAME | PR_GET_NAME) {
        return None;
    }
    let task = execution::current();
    // SAFETY: the caller passes a text that ends in a zero, or room for a name.
    unsafe {
        if option == PR_SET_NAME {
            let new = CStr::from_ptr(name as *const c_char).to_bytes();
            set_name(task, &new[..new.len().min(NAME_SIZE - 1)]);
        } else {
            (name as *mut [u8; NAME_SIZE]).write_unaligned(name_of(task)?);
        }
    }
    Some(0)
}

/// libc's `sigaltstack`. Tasks share a kernel thread, and with it the kernel's alternate stack. So
/// a task finds the stack that it has set, but no handler runs on this stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let arguments = [new as usize, old as usize, 0, 0, 0, 0];
            return sys::libc_result(sys::syscall(number::SIGALTSTACK, arguments)) as c_int;
        }
        let new = new.as_ref().copied();
        let own = execution::with(|it| it.running().alternate_stack).flatten();
        if !old.is_null() {
            if let Some(own) = own {
                old.write(own);
            } else {
                sys::syscall(number::SIGALTSTACK, [0, old as usize, 0, 0, 0, 0]);
                // The stack is reported as enabled, so that no code frees it.
                (*old).flags = 0;
            }
        }
        if new.is_some() {
            execution::with(|it| it.running().alternate_stack = new);
        }
    }
    0
}
