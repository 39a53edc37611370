//! `fork`, and the kernel objects that executions leave behind.

use core::ffi::c_int;

use super::alarm::Alarm;
use super::credentials::Credentials;
use super::disposition::Signals;
use super::files::Known;
use super::loopback::Links;
use super::timer::Timers;
use crate::base::real;
use crate::base::sys::{self, number};
use crate::engine::engine;
use crate::execution;

const F_GETFD: usize = 1;
const F_DUPFD: usize = 0;
/// The number of first executions after each of which the descriptors are checked.
const CAREFUL: u64 = 64;
/// The interval of later checks, in executions, if no execution has left a descriptor
/// open.
const SELDOM: u64 = 64;

/// The engine's state of the kernel objects of the process.
pub(crate) struct Process {
    /// The first descriptor that no execution may leave open.
    first_free: usize,
    executions: u64,
    /// Whether some execution left a descriptor open.
    leaks: bool,
    /// Sockets of the running execution.
    pub(super) links: Links,
    /// The alarm of the running execution.
    pub(super) alarm: Alarm,
    /// Timers of the running execution.
    pub(super) timers: Timers,
    /// Signals of the running execution.
    pub(super) signals: Signals,
    /// Files of the running execution.
    pub(super) files: Known,
    /// The changes by the running execution to the user and groups of the process.
    pub(super) credentials: Credentials,
}

impl Process {
    pub(crate) const fn new() -> Self {
        Self {
            first_free: usize::MAX,
            executions: 0,
            leaks: false,
            links: Links::new(),
            alarm: Alarm::new(),
            timers: Timers::new(),
            signals: Signals::new(),
            files: Known::new(),
            credentials: Credentials::new(),
        }
    }

    /// Begins a new execution: discards the state of the former one's descriptors and
    /// signals.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.links.clear();
        self.alarm.clear();
        self.timers.clear();
        self.signals.put_back();
        self.files.begin();
        self.credentials.clear();
    }

    /// The first descriptor that was not open before the program's own code ran.
    #[inline]
    pub(crate) fn first_descriptor(&self) -> c_int {
        c_int::try_from(self.first_free).unwrap_or(0)
    }

    /// Fills the gaps among the open descriptors, so that all descriptors that the
    /// program opens from now on lie above them.
    pub(crate) fn settle(&mut self) {
        // SAFETY: descriptor 0 is open; duplicates go to gaps only.
        unsafe {
            let highest = (0..1024)
                .rev()
                .find(|&fd| sys::syscall(number::FCNTL, [fd, F_GETFD, 0, 0, 0, 0]) >= 0)
                .unwrap_or(2);
            loop {
                let new = sys::syscall(number::FCNTL, [0, F_DUPFD, 0, 0, 0, 0]);
                if new < 0 {
                    break;
                }
                if new.cast_unsigned() > highest {
                    sys::syscall(
                        number::CLOSE_RANGE,
                        [new.cast_unsigned(), u32::MAX as usize, 0, 0, 0, 0],
                    );
                    break;
                }
            }
            self.first_free = highest + 1;
        }
    }
}

/// Closes the descriptors that the last execution left open. The check costs a system
/// call, so it is rare for a program that never leaves one open.
#[inline]
pub(crate) fn tidy_descriptors(process: &mut Process) {
    process.executions += 1;
    let is_seldom = process.executions.is_multiple_of(SELDOM);
    // A descriptor that is left open may hold a lock, for which the next execution
    // would wait.
    let leaks = process.leaks || process.files.leaves_open();
    if leaks || process.executions <= CAREFUL || is_seldom {
        close_leftovers(process);
    }
}

fn close_leftovers(process: &mut Process) {
    if process.first_free == usize::MAX {
        return;
    }
    let first = process.first_free;
    // SAFETY: descriptors above `first_free` belong to executions that are over.
    unsafe {
        // The kernel assigns the lowest free number. If that is `first`, most likely no
        // descriptor was left open. Closing the range makes sure of it in either case.
        let copy = sys::syscall(number::FCNTL, [0, F_DUPFD, first, 0, 0, 0]);
        let clean = copy >= 0 && copy.cast_unsigned() == first;
        if !clean {
            process.leaks = true;
        }
        sys::syscall(number::CLOSE_RANGE, [first, u32::MAX as usize, 0, 0, 0, 0]);
    }
}

/// libc's `fork`. The child of a task is an ordinary process: it continues on its copy
/// of the task's stack, and is not under control.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> c_int {
    // SAFETY: `fork` as the caller asked for it.
    let child = unsafe { real::fork() };
    if child == 0 && execution::active() {
        execution::forget_task();
        // SAFETY: the engine's memory is shared with the parent: the child only reads it.
        unsafe { (*engine()).image.open() };
    } else if child > 0 {
        execution::add_child(child);
    }
    child
}
