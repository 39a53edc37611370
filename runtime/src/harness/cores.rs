//! How many cores the test has, as the supervisor says on standard input.
//!
//! It says so in a line of two digits, in a file, and writes it anew when there are more.
//! The state of an earlier search may follow. The program finds standard input empty.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::platform::memory::EngineVec;
use crate::platform::sys;

/// The length of the line.
const LINE: usize = 3;
/// No descriptor.
const NONE: usize = usize::MAX;

/// What is known of it, in the engine's memory: the zygote reads, the explorer asks.
pub(crate) struct Cores {
    count: AtomicUsize,
    descriptor: usize,
}

impl Cores {
    pub(crate) const fn new() -> Self {
        Self {
            count: AtomicUsize::new(1),
            descriptor: NONE,
        }
    }

    /// How many there are, at least one.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// For the zygote, before there is an explorer: keeps the file, and leaves standard
    /// input empty.
    pub(super) fn open(&mut self) {
        const F_DUPFD_CLOEXEC: usize = 1030;
        // SAFETY: a plain system call.
        let own = unsafe { sys::syscall(sys::number::FCNTL, [0, F_DUPFD_CLOEXEC, 3, 0, 0, 0]) };
        self.descriptor = usize::try_from(own).unwrap_or(NONE);
        self.look();
        super::process::empty_stdin();
    }

    /// For the zygote: the number may have changed.
    pub(super) fn look(&self) {
        let mut line = [0; LINE];
        if read(self.descriptor, 0, &mut line) == LINE
            && let Ok(line) = core::str::from_utf8(&line)
            && let Ok(count) = line.trim_end().parse()
        {
            self.count.store(count, Ordering::Relaxed);
        }
    }

    /// For the zygote: appends what follows the line.
    pub(super) fn read_rest(&self, out: &mut EngineVec<u8>) {
        let mut chunk = [0; 1 << 13];
        let mut at = LINE;
        loop {
            let count = read(self.descriptor, at, &mut chunk);
            if count == 0 {
                return;
            }
            out.extend_from_slice(&chunk[..count]);
            at += count;
        }
    }

    /// For the explorer: the program does not have the descriptor.
    pub(super) fn close(&self) {
        // SAFETY: it is nobody else's.
        unsafe { sys::syscall(sys::number::CLOSE, [self.descriptor, 0, 0, 0, 0, 0]) };
    }
}

/// Reads from a place in a file; how much there was.
fn read(descriptor: usize, place: usize, into: &mut [u8]) -> usize {
    let (at, length) = (into.as_mut_ptr() as usize, into.len());
    loop {
        // SAFETY: `into` is writable and so long.
        let count =
            unsafe { sys::syscall(sys::number::PREAD64, [descriptor, at, length, place, 0, 0]) };
        if count != -(sys::EINTR as isize) {
            return usize::try_from(count).unwrap_or(0);
        }
    }
}
