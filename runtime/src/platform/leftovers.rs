//! The descriptors that executions leave open, and the temporary files that they leave behind.

use core::ffi::c_int;

use super::scratch::Scratch;
use super::{socket, stack_pool};
use crate::base::memory::Place;
use crate::base::sys::{self, number};

const F_GETFD: usize = 1;
const F_DUPFD: usize = 0;
const F_DUPFD_CLOEXEC: usize = 1030;
/// The number of executions at the start of a search after each of which the descriptors and the
/// temporary files are checked.
const CAREFUL: u64 = 64;
/// The interval of the checks after the first [`CAREFUL`] executions, in executions, if no
/// execution has left anything.
const SELDOM: u64 = 64;

/// The lowest number of the descriptors of executions, and the state of the checks for descriptors
/// that executions leave open.
pub(crate) struct Leftovers {
    /// The lowest descriptor that an execution may open. An execution must not leave this or a
    /// higher descriptor open.
    first_free: usize,
    executions: u64,
    /// Copies of the standard streams.
    standard: [usize; 3],
    /// For each standard stream, whether the last execution closed or replaced it.
    is_replaced: [bool; 3],
    /// Whether some execution left a descriptor open.
    leaks: bool,
    /// The test's directory for temporary files.
    pub(crate) scratch: Scratch,
}

/// The place of this state in the engine's memory.
pub(crate) const PLACE: Place<Leftovers> = Place::after(&stack_pool::PLACE);

/// The first number above the descriptors that were open before the program's own code ran. Call
/// it only in a process in which the engine was created.
#[inline]
pub(crate) fn first_descriptor() -> c_int {
    // SAFETY: the field does not change while tasks run.
    let first_free = unsafe { (*PLACE.get()).first_free };
    c_int::try_from(first_free).unwrap_or(0)
}

/// Records that the running execution closes or replaces a descriptor, if it is a standard stream.
#[inline]
pub(crate) fn replaces_standard(descriptor: c_int) {
    if let 0..3 = descriptor {
        // SAFETY: one task runs at a time, and nothing else uses the field meanwhile.
        unsafe { (*PLACE.get()).is_replaced[descriptor as usize] = true };
    }
}

impl Leftovers {
    pub(crate) const fn new() -> Self {
        Self {
            first_free: usize::MAX,
            executions: 0,
            standard: [0; 3],
            is_replaced: [false; 3],
            leaks: false,
            scratch: Scratch::new(),
        }
    }

    /// Makes copies of the standard streams. Then fills the gaps among the open descriptors with
    /// duplicates of descriptor 0, so that the program opens only descriptors above them.
    pub(crate) fn settle(&mut self) {
        // SAFETY: descriptor 0 is open; duplicates go to gaps only.
        unsafe {
            for (stream, copy) in self.standard.iter_mut().enumerate() {
                let arguments = [stream, F_DUPFD_CLOEXEC, 3, 0, 0, 0];
                *copy = sys::syscall(number::FCNTL, arguments).cast_unsigned();
            }
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

    /// Closes the descriptors that the last execution left open, and removes the temporary files
    /// that it left behind. This costs system calls. So after the first [`CAREFUL`] executions it
    /// is done only once in [`SELDOM`] executions, until some execution leaves something.
    /// `leaves_open` states that the last execution is known to have left a descriptor open, and
    /// `makes_files` states that it has made files.
    #[inline]
    pub(crate) fn tidy(&mut self, leaves_open: bool, makes_files: bool) {
        if self.is_replaced != [false; 3] {
            self.put_back_standard();
        }
        self.executions += 1;
        let is_due = self.executions <= CAREFUL || self.executions.is_multiple_of(SELDOM);
        // A descriptor that is left open may hold a lock, for which the next execution would wait.
        let leaks = self.leaks || leaves_open;
        if leaks || is_due {
            self.close();
        }
        if makes_files || is_due || self.scratch.has_entries() {
            self.scratch.empty();
        }
    }

    #[cold]
    fn put_back_standard(&mut self) {
        for (stream, copy) in self.standard.into_iter().enumerate() {
            if core::mem::take(&mut self.is_replaced[stream]) {
                // SAFETY: replaces a file that the execution has opened.
                unsafe { sys::syscall(number::DUP2, [copy, stream, 0, 0, 0, 0]) };
            }
        }
    }

    fn close(&mut self) {
        if self.first_free == usize::MAX {
            return;
        }
        let first = self.first_free;
        // SAFETY: descriptors above `first_free` belong to executions that are over.
        unsafe {
            // The kernel assigns the lowest free number from `first` on. If that is `first`, most
            // likely no descriptor was left open. The range is closed in any case, to be sure.
            let copy = sys::syscall(number::FCNTL, [0, F_DUPFD, first, 0, 0, 0]);
            let clean = copy >= 0 && copy.cast_unsigned() == first;
            if !clean {
                self.leaks = true;
                socket::reset_left_open(first as c_int);
            }
            sys::syscall(number::CLOSE_RANGE, [first, u32::MAX as usize, 0, 0, 0, 0]);
        }
    }
}
