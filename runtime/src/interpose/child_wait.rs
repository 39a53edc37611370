//! Waits for child processes: the runtime records their start, and parks a task that waits for
//! their end.

use core::ffi::{c_char, c_int, c_uint, c_void};

use chess_vocabulary::Fault;

use super::call::{admit, wait_for};
use super::stopped_start::{Start, mark_change_of_directory};
use super::{failing, files, outside_signals};
use crate::base::real;
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor::{self, POLLIN, PollEntry};

const WNOHANG: c_int = 1;
/// `WUNTRACED` of `waitpid` has the same value.
const WSTOPPED: c_int = 2;
const WCONTINUED: c_int = 8;
const P_ALL: c_int = 0;
const P_PID: c_int = 1;
const P_PGID: c_int = 2;
const P_PIDFD: c_int = 3;

/// The children that a call waits for, as the first two arguments of the system call `waitid`.
#[derive(Clone, Copy)]
struct Which {
    kind: c_int,
    id: c_int,
}

/// The highest number of children that one call waits for.
const MOST: usize = 1024;

/// Waits as a task until `attempt` finds a child, or fails. `attempt` does not block. It returns
/// the id of the found child, 0 if no child is found, or a negative error number. Returns the last
/// result of `attempt`. If `options` has `WNOHANG`, calls `attempt` at most once, and does not
/// wait.
fn wait(which: Which, options: c_int, attempt: impl Fn(Which) -> isize) -> isize {
    execution::note_wait_for_child();
    if options & (WSTOPPED | WCONTINUED) != 0 {
        execution::let_children_run_freely();
    }
    if options & WNOHANG != 0 {
        let child = look(which, options, &attempt);
        if child == 0 {
            execution::yield_to_outside();
        }
        return done(child);
    }
    let attempt = || attempt(which);
    execution::before_call(Op::WaitForChild, 0);
    let mut entries = [PollEntry::new(-1, POLLIN); MOST];
    let count = match which.kind {
        P_PIDFD => {
            entries[0].descriptor = which.id;
            1
        }
        P_PID => {
            entries[0].descriptor = execution::open_process(which.id);
            1
        }
        _ => {
            let mut count = 0;
            execution::for_each_child(|child| {
                if let Some(entry) = entries.get_mut(count) {
                    entry.descriptor = execution::open_process(child);
                    count += 1;
                }
            });
            count
        }
    };
    let entries = &mut entries[..count];
    let child = loop {
        if entries.iter().all(|entry| entry.descriptor < 0) {
            // No child is known: the kernel decides the result.
            break attempt();
        }
        if options & (WSTOPPED | WCONTINUED) != 0 {
            // The descriptor of a process shows only its end.
            let child = attempt();
            if child != 0 {
                break child;
            }
            execution::yield_to_outside();
            continue;
        }
        wait_for(Op::WaitForChild, 0, entries, None, true);
        let child = attempt();
        if child != 0 {
            break child;
        }
        for entry in entries.iter_mut().filter(|entry| entry.got != 0) {
            // This child has ended, but the call does not wait for it.
            if which.kind != P_PIDFD {
                descriptor::close(entry.descriptor);
            }
            entry.descriptor = -1;
        }
    };
    if which.kind != P_PIDFD {
        for entry in entries.iter().filter(|entry| entry.descriptor >= 0) {
            descriptor::close(entry.descriptor);
        }
    }
    let result = done(child);
    execution::after_call(Op::WaitForChild, 0, Effect::Write);
    result
}

/// Looks by `attempt` for a child that has ended. Returns 0 without a call of `attempt` if tasks do
/// not see the end of such a child yet.
fn look(which: Which, options: c_int, attempt: impl Fn(Which) -> isize) -> isize {
    let asked = match which.kind {
        P_PID => Some(which.id),
        P_PIDFD => execution::process_of(which.id),
        _ => None,
    };
    let is_of_known = asked.is_some() || which.kind == P_ALL;
    if !is_of_known || options & (WSTOPPED | WCONTINUED) != 0 {
        return attempt(which);
    }
    match execution::has_child_ended(asked) {
        Some(false) => 0,
        Some(true) if which.kind == P_ALL => execution::ended_child().map_or(0, |id| {
            let kind = P_PID;
            attempt(Which { kind, id })
        }),
        // The kernel decides about children that the engine does not know.
        _ => attempt(which),
    }
}

/// Ends a wait that has found `child`, the id of a process. If the process has ended and the wait
/// has taken its status, removes it from the children that the engine knows. Returns `child`. If
/// `child` is 0 or a negative error number, only returns it.
fn done(child: isize) -> isize {
    // A child that was stopped or continued still exists, and so does a child whose status was not
    // taken.
    if child > 0 && !exists(child) {
        execution::forget_child(child as c_int);
    }
    child
}

/// Whether there is a process with this id, running or ended.
fn exists(process: isize) -> bool {
    // SAFETY: no memory is passed, and the signal 0 is not sent.
    unsafe { sys::syscall(number::KILL, [process as usize, 0, 0, 0, 0, 0]) == 0 }
}

/// libc's `wait4`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn wait4(
    child: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut c_void,
) -> c_int {
    const USAGE_SIZE: usize = 144;
    let attempt = |child: c_int, options: c_int| {
        let (status, usage) = (status as usize, usage as usize);
        let arguments = [child as usize, status, options as usize, usage, 0, 0];
        // SAFETY: the caller's arguments are those of the system call.
        unsafe { sys::syscall(number::WAIT4, arguments) }
    };
    if !active() {
        return sys::libc_result(attempt(child, options)) as c_int;
    }
    admit(status as usize, size_of::<c_int>());
    admit(usage as usize, USAGE_SIZE);
    let kind = match child {
        1.. => P_PID,
        -1 => P_ALL,
        _ => P_PGID,
    };
    let which = Which { kind, id: child };
    let attempt = |which: Which| attempt(which.id, options | WNOHANG);
    sys::libc_result(wait(which, options, attempt)) as c_int
}

/// libc's `waitpid`.
#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { wait4(child, status, options, core::ptr::null_mut()) }
}

/// libc's `wait`.
#[unsafe(export_name = "wait")]
unsafe extern "C" fn wait_for_any(status: *mut c_int) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { wait4(-1, status, 0, core::ptr::null_mut()) }
}

/// The system call `waitid`, with the fifth argument that libc's function lacks.
pub(super) unsafe fn waitid5(
    kind: c_int,
    id: c_uint,
    info: *mut [u32; 32],
    options: c_int,
    usage: *mut c_void,
) -> c_int {
    let (kind_word, id_word, usage_at) = (kind as usize, id as usize, usage as usize);
    if !active() {
        let arguments = [
            kind_word,
            id_word,
            info as usize,
            options as usize,
            usage_at,
            0,
        ];
        // SAFETY: the caller's arguments are those of the system call.
        return sys::libc_result(unsafe { sys::syscall(number::WAITID, arguments) }) as c_int;
    }
    let mut own = [0u32; 32];
    let own_at = &raw mut own;
    let which = Which {
        kind,
        id: id.cast_signed(),
    };
    let result = wait(which, options, |Which { kind, id }| {
        let options = (options | WNOHANG) as usize;
        let (kind, id, at) = (kind as usize, id as usize, own_at as usize);
        let arguments = [kind, id, at, options, usage_at, 0];
        // SAFETY: as above; `own` is as large as the kernel's structure.
        unsafe {
            let result = sys::syscall(number::WAITID, arguments);
            if result < 0 {
                result
            } else {
                (*own_at)[sys::CHILD_AT] as isize
            }
        }
    });
    if result >= 0 && !info.is_null() {
        // SAFETY: the caller passes null or room for the structure.
        unsafe { info.write(own) };
    }
    sys::libc_result(result.min(0)) as c_int
}

/// libc's `waitid`.
#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(
    kind: c_int,
    id: c_uint,
    info: *mut [u32; 32],
    options: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { waitid5(kind, id, info, options, core::ptr::null_mut()) }
}

/// libc's `posix_spawnattr_init`, which std calls shortly before it starts a child.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnattr_init(attributes: *mut c_void) -> c_int {
    if active() {
        files::reach_child_start();
    }
    // SAFETY: the caller's argument is that of the real function.
    unsafe { real::posix_spawnattr_init(attributes) }
}

/// libc's `posix_spawn_file_actions_addchdir_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn_file_actions_addchdir_np(
    actions: *mut c_void,
    path: *const c_char,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        mark_change_of_directory(actions);
        real::posix_spawn_file_actions_addchdir_np(actions, path)
    }
}

/// libc's `posix_spawn_file_actions_addfchdir_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn_file_actions_addfchdir_np(
    actions: *mut c_void,
    directory: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        mark_change_of_directory(actions);
        real::posix_spawn_file_actions_addfchdir_np(actions, directory)
    }
}

macro_rules! spawns {
    ($($(#[$doc:meta])* $name:ident, $is_searched:literal;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                child: *mut c_int,
                program: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                arguments: *const *mut c_char,
                environment: *const *mut c_char,
            ) -> c_int {
                // `posix_spawn` returns an error number, and does not set `errno`.
                if active() {
                    if let Some(error) = failing::fails(Fault::Process) {
                        return -error as c_int;
                    }
                    files::others_write();
                    outside_signals::child_starts();
                }
                // SAFETY: the caller's arguments are those of the real function.
                unsafe {
                    let real = || {
                        real::$name(child, program, actions, attributes, arguments, environment)
                    };
                    if !active() {
                        return real();
                    }
                    let start = Start {
                        child,
                        program,
                        actions,
                        attributes,
                        arguments,
                        environment,
                    };
                    files::start_child(program, || {
                        let stops_itself = start.start_stopped($is_searched);
                        let error = if stops_itself { 0 } else { real() };
                        if error == 0 {
                            execution::add_child(*child, stops_itself);
                        }
                        error
                    })
                }
            }
        )*
    };
}

spawns! {
    /// libc's `posix_spawn`.
    posix_spawn, false;
    /// libc's `posix_spawnp`.
    posix_spawnp, true;
}
