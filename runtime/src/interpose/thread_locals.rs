//! Destructors of thread-locals, and pthread keys. In an exploring process, this file keeps them
//! instead of libc.
//!
//! libc keeps the table of keys in its own data, and the values of a task in the control block of
//! the donor (the thread that lends its stack to the task). Both would outlive an execution. But
//! std's record of the key that it created is part of the memory image, which is restored after
//! each execution. So std would create another key in every execution, and delete none. From the
//! 33rd key on, libc allocates the values in heap blocks, and after the restoration it would write
//! to blocks that no longer exist. In an exploring process the table of keys therefore lies in the
//! image, and the values belong to the task.

use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};

use crate::base::memory::EngineVec;
use crate::base::real;
use crate::base::sys::{self, Destructor, pthread_key_t};
use crate::execution::{self, Running};
use crate::platform::heap;

/// The value of `PTHREAD_KEYS_MAX` on Linux.
const KEYS: usize = 1024;
/// The highest number of rounds of destructors at the end of a task, as in glibc. A further round
/// is needed if a destructor has set values again.
const ROUNDS: usize = 4;

#[derive(Clone, Copy)]
struct Key {
    used: bool,
    destructor: Option<Destructor>,
}

struct Table(UnsafeCell<[Key; KEYS]>);
// SAFETY: in an exploring process one thread at a time runs program code.
unsafe impl Sync for Table {}

/// The table of keys. It is in the data of the executable. The memory image restores this data
/// after each execution, and with it std's numbers of its keys.
static TABLE: Table = Table(UnsafeCell::new(
    [Key {
        used: false,
        destructor: None,
    }; KEYS],
));

thread_local! {
    /// The values of a thread that is not a task: `KEYS` words, or null.
    static VALUES: Cell<*mut *mut c_void> = const { Cell::new(core::ptr::null_mut()) };
}

fn slot(key: pthread_key_t) -> Option<*mut Key> {
    let at = key as usize;
    // SAFETY: within the table.
    (at < KEYS).then(|| unsafe { TABLE.0.get().cast::<Key>().add(at) })
}

/// Calls `act` with the values of the running task's keys. `None` if the caller is not a task.
fn with_task_values<R>(act: impl FnOnce(&mut EngineVec<*mut c_void>) -> R) -> Option<R> {
    execution::with(|it| act(&mut it.running().key_values))
}

/// libc's `pthread_key_create`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Option<Destructor>,
) -> c_int {
    if !heap::is_arena() {
        // SAFETY: the caller's arguments are those of the real function.
        return unsafe { real::pthread_key_create(key, destructor) };
    }
    for number in 0..KEYS as pthread_key_t {
        let Some(slot) = slot(number) else { break };
        // SAFETY: one thread at a time; `key` is the caller's.
        unsafe {
            if !(*slot).used {
                *slot = Key {
                    used: true,
                    destructor,
                };
                *key = number;
                return 0;
            }
        }
    }
    sys::EAGAIN
}

/// libc's `pthread_key_delete`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    if !heap::is_arena() {
        // SAFETY: the caller's arguments are those of the real function.
        return unsafe { real::pthread_key_delete(key) };
    }
    let Some(slot) = slot(key) else {
        return sys::EINVAL;
    };
    // SAFETY: one thread at a time.
    unsafe {
        (*slot) = Key {
            used: false,
            destructor: None,
        };
    }
    execution::with(|it| {
        for task in &mut it.schedule.tasks[..it.schedule.live] {
            if let Some(value) = task.key_values.get_mut(key as usize) {
                *value = core::ptr::null_mut();
            }
        }
    });
    0
}

/// libc's `pthread_getspecific`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    // SAFETY: one thread at a time in an exploring process; values lie within bounds.
    unsafe {
        if !heap::is_arena() {
            return real::pthread_getspecific(key);
        }
        let value = with_task_values(|values| values.get(key as usize).copied());
        if let Some(value) = value {
            return value.unwrap_or(core::ptr::null_mut());
        }
        let values = VALUES.get();
        if values.is_null() || key as usize >= KEYS {
            return core::ptr::null_mut();
        }
        *values.add(key as usize)
    }
}

/// libc's `pthread_setspecific`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_setspecific(
    key: pthread_key_t,
    value: *const c_void,
) -> c_int {
    // SAFETY: as `pthread_getspecific`.
    unsafe {
        if !heap::is_arena() {
            return real::pthread_setspecific(key, value);
        }
        let at = key as usize;
        if at >= KEYS {
            return sys::EINVAL;
        }
        let set = with_task_values(|values| {
            if values.len() <= at {
                values.resize(at + 1, core::ptr::null_mut());
            }
            values[at] = value.cast_mut();
        });
        if set.is_some() {
            return 0;
        }
        if VALUES.get().is_null() {
            let bytes = sys::map_anywhere(KEYS * size_of::<*mut c_void>());
            if bytes.is_null() {
                return sys::ENOMEM;
            }
            VALUES.set(bytes.cast());
        }
        *VALUES.get().add(at) = value.cast_mut();
    }
    0
}

/// libc's function that registers the destructor of a thread-local. The engine has a list of
/// destructors for each task. If a task is abandoned, its destructors do not run.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function; see
    // `execution::running`.
    unsafe {
        let Some(execution) = execution::running() else {
            return real::__cxa_thread_atexit_impl(destructor, object, library);
        };
        execution.with(|it| it.running().destructors.push((destructor, object)));
    }
    0
}

/// Runs the destructors of the thread-locals and keys of the ending task. They run on the stack of
/// the task, because they may reach scheduling points.
pub(crate) fn run_thread_destructors() {
    let Some(execution) = execution::running() else {
        return;
    };
    run_registered(execution);
    for _ in 0..ROUNDS {
        let mut ran = false;
        let mut key = 0;
        while let Some(value) = execution.with(|it| {
            let value = it.running().key_values.get_mut(key)?;
            Some(core::mem::replace(value, core::ptr::null_mut()))
        }) {
            // SAFETY: one thread at a time runs code of the program.
            let destructor =
                slot(key as pthread_key_t).and_then(|slot| unsafe { (*slot).destructor });
            if let Some(destructor) = destructor
                && !value.is_null()
            {
                // SAFETY: the program registered it for the values of this key.
                unsafe { destructor(value) };
                ran = true;
            }
            key += 1;
        }
        if !ran {
            break;
        }
    }
    // Destructors of keys may have registered more destructors.
    run_registered(execution);
}

/// Runs the destructors of the thread-locals of the running task, the newest first.
fn run_registered(execution: Running) {
    while let Some((destructor, object)) = execution.with(|it| it.running().destructors.pop()) {
        // SAFETY: the program registered it for this object.
        unsafe { destructor(object) };
    }
}
