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
/// Executions during which descriptors are looked at each time.
const CAREFUL: u64 = 64;
/// How often they are looked at later, if none was ever left behind.
const SELDOM: u64 = 64;

/// What the engine knows of the process' kernel objects.
pub(crate) struct Process {
    /// The first descriptor that no execution may leave open.
    first_free: usize,
    executions: u64,
    /// Some execution left a descriptor open.
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
    /// What the running execution has changed of the process' user and groups.
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

    /// A new execution begins: it knows nothing of the former one's descriptors
    /// and signals.
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

    /// Closes the gaps among the open descriptors, so that whatever the program
    /// opens from now on lies above them.
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

/// Closes what the last execution left open. Looking costs a system call, so a
/// program that never leaves anything is looked at seldom.
#[inline]
pub(crate) fn tidy_descriptors(process: &mut Process) {
    process.executions += 1;
    let is_seldom = process.executions.is_multiple_of(SELDOM);
    // What is left open may hold a lock, for which the next execution would wait.
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
        // The lowest free number is given out first: if it is `first`, most likely
        // nothing was left open; closing the range settles it either way.
        let copy = sys::syscall(number::FCNTL, [0, F_DUPFD, first, 0, 0, 0]);
        let clean = copy >= 0 && copy.cast_unsigned() == first;
        if !clean {
            process.leaks = true;
        }
        sys::syscall(number::CLOSE_RANGE, [first, u32::MAX as usize, 0, 0, 0, 0]);
    }
}

/// libc's `fork`. The child of a task is an ordinary process: it runs on, on its
/// copy of the task's stack, and nothing in it is controlled any more.
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
