//! `kill` and similar functions: a signal that a task sends to its own process is
//! handled immediately, on that task.
//!
//! The kernel would choose the thread and the moment of the handler, and no schedule could repeat
//! that. The signal interrupts no wait in the kernel, because no task waits there.

use core::ffi::{c_int, c_void};

use super::disposition::{COUNT, Handling, SIG_DFL, SIG_IGN, signals};
use super::wait_signal;
use crate::base::real;
use crate::base::sys::{self, SA_NODEFER, SIGCONT, SIGKILL, SIGSEGV, number, pthread_t};
use crate::execution::{self, Effect, Op, active};
use crate::platform::handover::Backend;
use crate::platform::stack_pool::pool;

/// The last of the signals that stop or continue a process. SIGCONT is the first of them.
const SIGTTOU: c_int = 22;

const SI_USER: i32 = 0;
const SI_QUEUE: i32 = -1;
const SI_TKILL: i32 = -6;
pub(super) const SA_RESETHAND: u64 = 0x8000_0000;
/// The signals whose default action is to do nothing.
const IGNORED: [c_int; 4] = [17, 18, 23, 28];

/// C's `siginfo_t`: the signal, the code, the sender, and a value.
pub(super) type Info = [u64; 16];

/// C's `ucontext_t`. Handlers get one that is all zero.
type Context = [u64; 128];

pub(super) fn own_process() -> c_int {
    // SAFETY: no arguments, no effect.
    unsafe { sys::syscall(number::GETPID, [0; 6]) as c_int }
}

/// Whether each task runs on a kernel thread of its own.
fn has_own_threads() -> bool {
    // SAFETY: the calling task is the only one
    // that runs.
    unsafe { (*pool()).backend() == Backend::Threads }
}

/// Whether the caller is a task, `signal` is a valid number, and `process` is the process of the
/// caller.
fn is_own(process: c_int, signal: c_int) -> bool {
    active() && (1..=COUNT as c_int).contains(&signal) && process == own_process()
}

fn low(word: c_int) -> u64 {
    u64::from(word.cast_unsigned())
}

fn info(signal: c_int, code: i32, value: usize) -> Info {
    // SAFETY: no arguments, no effect.
    let user = unsafe { sys::syscall(number::GETUID, [0; 6]) } as u64;
    let mut info = [0; 16];
    info[0] = low(signal);
    info[1] = low(code);
    info[2] = low(own_process()) | user << 32;
    info[3] = value as u64;
    info
}

/// Whether a call of this process, and not the kernel, has sent the signal with this information.
pub(super) fn is_sent_by_own_process(info: &Info) -> bool {
    let (code, sender) = (info[1] as i32, info[2] as c_int);
    code <= SI_USER && sender == own_process()
}

/// Handles the signal of an alarm that is due, on the calling task.
pub(super) fn send_alarm(signal: c_int) {
    const SI_KERNEL: i32 = 0x80;
    send(signal, &info(signal, SI_KERNEL, 0));
}

/// Handles the signal of a timer that has expired, on the calling task. `value` is the timer's
/// value.
pub(super) fn send_timer(signal: c_int, value: usize) {
    const SI_TIMER: i32 = -2;
    let mut info = info(signal, SI_TIMER, value);
    // The number of the kernel's timer and the number of overruns.
    info[2] = 0;
    send(signal, &info);
}

/// Sends a signal from a task to its own process. If the signal has a handler and is not blocked,
/// runs the handler on the calling task.
fn send(signal: c_int, info: &Info) -> isize {
    let really = || {
        let (thread, at) = (sys::kernel_thread_id() as usize, info.as_ptr() as usize);
        let arguments = [own_process() as usize, thread, signal as usize, at, 0, 0];
        // SAFETY: the readable memory is as large as the kernel's structure.
        unsafe { sys::syscall(number::RT_TGSIGQUEUEINFO, arguments) }
    };
    execution::before_call(Op::Kill, 0);
    wait_signal::reads_mask();
    let result = if signals().is_blocked(signal) {
        // Tasks can receive a blocked signal by `signalfd` or `sigwait`.
        let result = really();
        if has_own_threads() {
            signals().pend(signal, info);
        }
        wait_signal::pending();
        result
    } else {
        match signals().disposition(signal).map(|action| action.handler) {
            Some(SIG_IGN) => 0,
            Some(SIG_DFL) if IGNORED.contains(&signal) => 0,
            Some(SIG_DFL) | None => {
                let bit = 1u64 << (signal - 1);
                if signal == SIGSEGV {
                    sys::reset_signal(SIGSEGV);
                }
                let mask = &raw const bit as usize;
                // SAFETY: one signal is let through to this thread, to end the process.
                unsafe { sys::syscall(number::RT_SIGPROCMASK, [1, mask, 0, 8, 0, 0]) };
                really()
            }
            Some(_) => {
                execution::after_call(Op::Kill, 0, Effect::Write);
                handle(signal, info);
                wait_signal::handled();
                return 0;
            }
        }
    };
    execution::after_call(Op::Kill, 0, Effect::Write);
    result
}

/// Runs the handler of `signal`, if the signal has one, on the calling task. If the task already
/// runs this handler, the handler runs once more after its end. A handler with the flag
/// `SA_NODEFER` runs at once in any case, and so interrupts itself.
pub(super) fn handle(signal: c_int, info: &Info) {
    let task = execution::current();
    let is_same = move |known: &Handling| known.task == task && known.signal == signal;
    loop {
        let Some(action) = signals().disposition(signal) else {
            return;
        };
        if action.handler <= SIG_IGN {
            return;
        }
        let defers = action.flags & low(SA_NODEFER) == 0;
        if defers {
            let handling = &mut signals().handling;
            if let Some(known) = handling.iter_mut().find(|known| is_same(known)) {
                known.again = true;
                return;
            }
            handling.push(Handling {
                task,
                signal,
                again: false,
            });
        }
        if action.flags & SA_RESETHAND != 0 {
            signals().reset(signal);
        }
        let (mut info, mut context): (Info, Context) = (*info, [0; 128]);
        // SAFETY: the program's handler; one that takes the signal alone does not read
        // the other two arguments.
        unsafe {
            let handler: extern "C-unwind" fn(c_int, *mut Info, *mut Context) =
                core::mem::transmute(action.handler);
            handler(signal, &raw mut info, &raw mut context);
        }
        if !defers {
            return;
        }
        let handling = &mut signals().handling;
        let Some(own) = handling.iter().position(is_same) else {
            return;
        };
        if !handling.swap_remove(own).again {
            return;
        }
    }
}

/// libc's `kill`.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn kill(process: c_int, signal: c_int) -> c_int {
    let result = if is_own(process, signal) {
        send(signal, &info(signal, SI_USER, 0))
    } else {
        if (SIGCONT..=SIGTTOU).contains(&signal) && active() {
            // The engine must not end a stop that the program causes, and the program must not end
            // a stop that the engine causes.
            execution::let_children_run_freely();
        }
        if signal == SIGKILL && active() && execution::kill_child(process) {
            return 0;
        }
        let arguments = [process as usize, signal as usize, 0, 0, 0, 0];
        // SAFETY: no memory is passed.
        unsafe { sys::syscall(number::KILL, arguments) }
    };
    sys::libc_result(result) as c_int
}

/// libc's `tgkill`. A signal to the own process is handled by the calling task, even if `thread`
/// is another thread.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn tgkill(process: c_int, thread: c_int, signal: c_int) -> c_int {
    let result = if is_own(process, signal) {
        send(signal, &info(signal, SI_TKILL, 0))
    } else {
        let arguments = [process as usize, thread as usize, signal as usize, 0, 0, 0];
        // SAFETY: no memory is passed.
        unsafe { sys::syscall(number::TGKILL, arguments) }
    };
    sys::libc_result(result) as c_int
}

/// libc's `raise`.
#[unsafe(no_mangle)]
extern "C-unwind" fn raise(signal: c_int) -> c_int {
    if is_own(own_process(), signal) {
        tgkill(own_process(), 0, signal)
    } else {
        // SAFETY: no memory is passed.
        unsafe { real::raise(signal) }
    }
}

/// libc's `pthread_kill`. The calling task handles the signal, even if `thread` is another thread.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    if is_own(own_process(), signal) {
        tgkill(own_process(), 0, signal)
    } else {
        // SAFETY: the caller's arguments are those of the real function.
        unsafe { real::pthread_kill(thread, signal) }
    }
}

/// libc's `sigqueue`.
#[unsafe(no_mangle)]
extern "C-unwind" fn sigqueue(process: c_int, signal: c_int, value: *mut c_void) -> c_int {
    let info = info(signal, SI_QUEUE, value as usize);
    // SAFETY: the information is complete.
    unsafe { queue(process, signal, &raw const info) }
}

/// The system call `rt_sigqueueinfo`.
pub(super) unsafe extern "C-unwind" fn queue(
    process: c_int,
    signal: c_int,
    info: *const Info,
) -> c_int {
    // SAFETY: the caller passes the kernel's structure.
    let result = unsafe {
        if is_own(process, signal) {
            let mut info = info.read();
            // The kernel also sets the signal number, whatever value the caller has
            // stored.
            info[0] = info[0] & !u64::from(u32::MAX) | low(signal);
            send(signal, &info)
        } else {
            let arguments = [process as usize, signal as usize, info as usize, 0, 0, 0];
            sys::syscall(number::RT_SIGQUEUEINFO, arguments)
        }
    };
    sys::libc_result(result) as c_int
}
