//! Attributes of the process that the program changes: the mask of permissions, the limits of
//! resources, the processors of a thread, and the standard streams.
//!
//! A later execution must not meet the changes of an earlier one. So the runtime puts the former
//! values back before the next execution. Functions whose changes it cannot undo give each
//! execution a process of its own.

use core::ffi::{c_int, c_void};

use super::files::{Attribute, change_process, inspect_process};
use super::kernel_writes;
use super::libraries;
use super::thread_attributes;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::real;
use crate::base::sys::{self, number, pthread_t};
use crate::execution::{self, active};
use crate::platform::leftovers;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Attributes> = Place::after(&libraries::PLACE);

/// The former values of the attributes that tasks of the running execution have changed.
pub(crate) struct Attributes {
    /// Whether any attribute has changed.
    has_changed: bool,
    umask: Option<usize>,
    limits: EngineVec<(c_int, Limit)>,
    /// The processors of a kernel thread, as a set of bits.
    processors: EngineVec<(usize, Processors)>,
}

/// C's `struct rlimit`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Limit {
    soft: u64,
    hard: u64,
}

type Processors = [u64; 128];

impl Attributes {
    pub(crate) const fn new() -> Self {
        Self {
            has_changed: false,
            umask: None,
            limits: engine_vec(),
            processors: engine_vec(),
        }
    }

    /// Undoes the changes by tasks of the former execution.
    #[inline]
    pub(crate) fn put_back(&mut self) {
        if core::mem::take(&mut self.has_changed) {
            self.put_back_all();
        }
    }

    #[cold]
    fn put_back_all(&mut self) {
        if let Some(mask) = self.umask.take() {
            // SAFETY: a number.
            unsafe { sys::syscall(number::UMASK, [mask, 0, 0, 0, 0, 0]) };
        }
        for (resource, before) in self.limits.drain(..) {
            limit(0, resource, &raw const before, core::ptr::null_mut());
        }
        for (thread, before) in self.processors.drain(..) {
            let (set, length) = (before.as_ptr() as usize, size_of::<Processors>());
            let arguments = [thread, length, set, 0, 0, 0];
            // SAFETY: a set of this length.
            unsafe { sys::syscall(number::SCHED_SETAFFINITY, arguments) };
        }
    }
}

/// Returns the state of the attributes, and marks them as changed. `None` if the caller is no task,
/// or if the process will run no further execution.
fn attributes() -> Option<&'static mut Attributes> {
    if !execution::shares_process() {
        return None;
    }
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    let attributes = unsafe { &mut *PLACE.get() };
    attributes.has_changed = true;
    Some(attributes)
}

/// Makes the system call `prlimit64`.
fn limit(process: c_int, resource: c_int, new: *const Limit, old: *mut Limit) -> isize {
    let (new, old) = (new as usize, old as usize);
    let arguments = [process as usize, resource as usize, new, old, 0, 0];
    // SAFETY: limits, or null.
    unsafe { sys::syscall(number::PRLIMIT64, arguments) }
}

/// libc's `umask`.
#[unsafe(no_mangle)]
extern "C" fn umask(mask: u32) -> u32 {
    let before = change_process(Attribute::Mask, || {
        // SAFETY: a number.
        unsafe { sys::syscall(number::UMASK, [mask as usize, 0, 0, 0, 0, 0]) }
    });
    if let Some(attributes) = attributes() {
        attributes.umask.get_or_insert(before.cast_unsigned());
    }
    before as u32
}

/// Changes a limit for a task, or for other code, unless `new` is null. Stores the former limit in
/// `old`, unless that is null.
unsafe fn change_limit(
    process: c_int,
    resource: c_int,
    new: *const Limit,
    old: *mut Limit,
) -> c_int {
    let mut before = Limit { soft: 0, hard: 0 };
    // SAFETY: no arguments.
    let own = unsafe { sys::syscall(number::GETPID, [0; 6]) };
    if active()
        && (process == 0 || process as isize == own)
        && !new.is_null()
        && limit(process, resource, core::ptr::null(), &raw mut before) == 0
    {
        // SAFETY: the caller passes a limit.
        if unsafe { new.read() }.hard < before.hard {
            // Only a privileged process may raise it again.
            execution::needs_process("setrlimit");
        }
        if let Some(attributes) = attributes() {
            let limits = &mut attributes.limits;
            if limits.iter().all(|(known, _)| *known != resource) {
                limits.push((resource, before));
            }
        }
    }
    kernel_writes::admit(old as usize, size_of::<Limit>());
    let act = || limit(process, resource, new, old);
    let result = if new.is_null() {
        inspect_process(Attribute::Limits, act)
    } else {
        change_process(Attribute::Limits, act)
    };
    sys::libc_result(result) as c_int
}

macro_rules! limits {
    ($($set:ident, $get:ident, $exchange:ident;)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $set(resource: c_int, new: *const Limit) -> c_int {
                // SAFETY: the caller's arguments.
                unsafe { change_limit(0, resource, new, core::ptr::null_mut()) }
            }

            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $get(resource: c_int, out: *mut Limit) -> c_int {
                // SAFETY: the caller's arguments.
                unsafe { change_limit(0, resource, core::ptr::null(), out) }
            }

            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $exchange(
                process: c_int,
                resource: c_int,
                new: *const Limit,
                old: *mut Limit,
            ) -> c_int {
                // SAFETY: the caller's arguments.
                unsafe { change_limit(process, resource, new, old) }
            }
        )*
    };
}

limits! {
    setrlimit, getrlimit, prlimit;
    setrlimit64, getrlimit64, prlimit64;
}

/// libc's `sched_setaffinity`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(process: c_int, length: usize, set: *const c_void) -> c_int {
    let thread = match process {
        // SAFETY: no arguments.
        0 => unsafe { sys::syscall(number::GETTID, [0; 6]) }.cast_unsigned(),
        _ => process as usize,
    };
    if let Some(attributes) = attributes()
        && attributes
            .processors
            .iter()
            .all(|(known, _)| *known != thread)
    {
        let mut before: Processors = [0; _];
        let (out, size) = (before.as_mut_ptr() as usize, size_of::<Processors>());
        // SAFETY: room for a set of this size.
        let read = unsafe { sys::syscall(number::SCHED_GETAFFINITY, [thread, size, out, 0, 0, 0]) };
        if read > 0 {
            attributes.processors.push((thread, before));
        }
    }
    let arguments = [thread, length, set as usize, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    sys::libc_result(unsafe { sys::syscall(number::SCHED_SETAFFINITY, arguments) }) as c_int
}

/// libc's `prctl`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    /// Options whose change the runtime cannot undo: `PR_SET_PDEATHSIG`, `PR_SET_DUMPABLE`,
    /// `PR_SET_KEEPCAPS`, `PR_SET_SECCOMP`, `PR_CAPBSET_DROP`, `PR_SET_SECUREBITS`,
    /// `PR_SET_TIMERSLACK`, `PR_SET_CHILD_SUBREAPER`, `PR_SET_NO_NEW_PRIVS`, `PR_SET_THP_DISABLE`.
    const PERMANENT: [c_int; 10] = [1, 4, 8, 22, 24, 28, 29, 36, 38, 41];
    /// An upper limit of the size of the results of `prctl`, except for the auxiliary vector.
    const MOST: usize = 512;
    if active() && PERMANENT.contains(&option) {
        execution::needs_process("prctl");
    }
    kernel_writes::admit(a, MOST);
    // SAFETY: the caller's arguments are those of the system call.
    if let Some(result) = unsafe { thread_attributes::prctl(option, a) } {
        return result;
    }
    let arguments = [option as usize, a, b, c, d, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let act = || unsafe { sys::syscall(number::PRCTL, arguments) };
    let result = if PERMANENT.contains(&option) {
        change_process(Attribute::Options, act)
    } else {
        inspect_process(Attribute::Options, act)
    };
    sys::libc_result(result) as c_int
}

macro_rules! permanent_changes {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $attribute:ident;)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                if active() {
                    execution::needs_process(stringify!($name));
                }
                // SAFETY: the caller's arguments.
                change_process(Attribute::$attribute, || unsafe {
                    real::$name($($argument),*)
                })
            }
        )*
    };
}

permanent_changes! {
    nice(increment: c_int) -> c_int, Priority;
    setpriority(which: c_int, who: u32, priority: c_int) -> c_int, Priority;
    sched_setscheduler(process: c_int, policy: c_int, parameters: *const c_void) -> c_int,
        Priority;
    sched_setparam(process: c_int, parameters: *const c_void) -> c_int, Priority;
    pthread_setschedparam(thread: pthread_t, policy: c_int, parameters: *const c_void) -> c_int,
        Priority;
    pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int, Priority;
    pthread_setaffinity_np(thread: pthread_t, length: usize, set: *const c_void) -> c_int,
        Priority;
    setsid() -> c_int, Group;
    setpgid(process: c_int, group: c_int) -> c_int, Group;
    chroot(path: *const core::ffi::c_char) -> c_int, Root;
    unshare(flags: c_int) -> c_int, Root;
    setns(descriptor: c_int, kind: c_int) -> c_int, Root;
}

macro_rules! looks {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $attribute:ident;)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller's arguments.
                inspect_process(Attribute::$attribute, || unsafe {
                    real::$name($($argument),*)
                })
            }
        )*
    };
}

looks! {
    getpriority(which: c_int, who: u32) -> c_int, Priority;
    getsid(process: c_int) -> c_int, Group;
    getpgid(process: c_int) -> c_int, Group;
    getpgrp() -> c_int, Group;
}

/// Announces that a task is about to close or replace the file of a descriptor.
pub(super) fn replaces(descriptor: c_int) {
    if execution::shares_process() {
        leftovers::replaces_standard(descriptor);
    }
}
