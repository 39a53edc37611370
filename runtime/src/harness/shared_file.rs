//! The file that the supervisor and the zygote share. It is standard input until the zygote takes
//! it.
//!
//! Its first line has two digits: the number of cores of the test. The supervisor rewrites the line
//! when the number grows. The rest of the file is the state of a search. Before the search, it is
//! the state of an earlier run, if there was one. During the search, the zygote writes new states.
//! The supervisor stores each of them, and then truncates the file. The program sees an empty
//! standard input.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::base::checkpoint::{Checkpoint, Piece};
use crate::base::memory::EngineVec;
use crate::base::sys;

/// The length of the first line.
const LINE: usize = 3;
/// No descriptor.
const NONE: usize = usize::MAX;

/// The shared file, in the engine's memory: the zygote reads and writes the file, and the explorer
/// reads the number of cores.
pub(crate) struct SharedFile {
    cores: AtomicUsize,
    descriptor: usize,
}

impl SharedFile {
    pub(crate) const fn new() -> Self {
        Self {
            cores: AtomicUsize::new(1),
            descriptor: NONE,
        }
    }

    /// The number of cores, at least one.
    pub(super) fn cores(&self) -> usize {
        self.cores.load(Ordering::Relaxed)
    }

    /// For the zygote, before the explorer exists: takes the file, and leaves an empty standard
    /// input.
    pub(super) fn open(&mut self) {
        const F_DUPFD_CLOEXEC: usize = 1030;
        // SAFETY: a plain system call.
        let own = unsafe { sys::syscall(sys::number::FCNTL, [0, F_DUPFD_CLOEXEC, 3, 0, 0, 0]) };
        self.descriptor = usize::try_from(own).unwrap_or(NONE);
        self.look();
        super::process::empty_stdin();
    }

    /// For the zygote: reads the number of cores, which may have changed.
    pub(super) fn look(&self) {
        let mut line = [0; LINE];
        if self.read(0, &mut line) == LINE
            && let Ok(line) = core::str::from_utf8(&line)
            && let Ok(count) = line.trim_end().parse()
        {
            self.cores.store(count, Ordering::Relaxed);
        }
    }

    /// For the zygote: moves the state in the file to the end of `out`.
    pub(super) fn take_state(&self, out: &mut EngineVec<u8>) {
        let mut chunk = [0; 1 << 13];
        let mut at = LINE;
        loop {
            let count = self.read(at, &mut chunk);
            if count == 0 {
                return self.clear();
            }
            out.extend_from_slice(&chunk[..count]);
            at += count;
        }
    }

    /// For the zygote: whether the file has a state.
    pub(super) fn has_state(&self) -> bool {
        self.read(LINE, &mut [0]) > 0
    }

    /// For the zygote: writes a state. Returns whether there was room.
    pub(super) fn put_state(&self, state: &Checkpoint) -> bool {
        let mut at = LINE;
        state.pieces().all(|piece| self.put(piece, &mut at))
    }

    fn put(&self, mut piece: Piece, at: &mut usize) -> bool {
        while piece.length > 0 {
            let address = piece.address as usize;
            let arguments = [self.descriptor, address, piece.length, *at, 0, 0];
            // SAFETY: the piece is readable. If other threads write to it meanwhile, the kernel
            // still reads bytes.
            let count = uninterrupted(|| unsafe { sys::syscall(sys::number::PWRITE64, arguments) });
            if count == 0 {
                return false;
            }
            piece = piece.after(count);
            *at += count;
        }
        true
    }

    /// For the zygote: removes the state.
    pub(super) fn clear(&self) {
        // SAFETY: a plain system call.
        unsafe { sys::syscall(sys::number::FTRUNCATE, [self.descriptor, LINE, 0, 0, 0, 0]) };
    }

    /// For the explorer: closes the descriptor, so that the program does not have it.
    pub(super) fn close(&self) {
        // SAFETY: the descriptor has no other owner.
        unsafe { sys::syscall(sys::number::CLOSE, [self.descriptor, 0, 0, 0, 0, 0]) };
    }

    /// Reads from a position in the file. Returns the number of bytes.
    fn read(&self, place: usize, into: &mut [u8]) -> usize {
        let (at, length) = (into.as_mut_ptr() as usize, into.len());
        let arguments = [self.descriptor, at, length, place, 0, 0];
        // SAFETY: `into` is writable and has this length.
        uninterrupted(|| unsafe { sys::syscall(sys::number::PREAD64, arguments) })
    }
}

/// The result of a system call that is repeated when a signal interrupts it; 0 for an error.
fn uninterrupted(call: impl Fn() -> isize) -> usize {
    loop {
        let result = call();
        if result != -(sys::EINTR as isize) {
            return usize::try_from(result).unwrap_or(0);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd};

    use super::*;
    use crate::base::memory::engine_vec;

    /// A shared file with a state, and its file.
    pub(in crate::harness) fn shared_file(state: &[u8]) -> (SharedFile, File) {
        const MEMFD_CREATE: usize = 319;
        let name = c"shared_file".as_ptr() as usize;
        // SAFETY: plain system calls; the descriptor has no other owner.
        let mut file = unsafe {
            let descriptor = sys::syscall(MEMFD_CREATE, [name, 0, 0, 0, 0, 0]);
            File::from_raw_fd(descriptor as i32)
        };
        file.write_all(b"03\n").unwrap();
        file.write_all(state).unwrap();
        let shared_file = SharedFile {
            cores: AtomicUsize::new(1),
            descriptor: file.as_raw_fd() as usize,
        };
        (shared_file, file)
    }

    #[test]
    fn the_number_of_cores_comes_first() {
        let (shared_file, _file) = shared_file(b"12");
        assert_eq!(shared_file.cores(), 1);
        shared_file.look();
        assert_eq!(shared_file.cores(), 3);
    }

    #[test]
    fn a_state_is_taken_whole_and_once() {
        let state: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        let (shared_file, _file) = shared_file(&state);
        for _ in 0..2 {
            let mut taken = engine_vec();
            assert!(shared_file.has_state());
            shared_file.take_state(&mut taken);
            assert_eq!(taken, state);
            assert!(!shared_file.has_state());
            let mut checkpoint = Checkpoint::new();
            checkpoint.extend_from_slice(&taken);
            assert!(shared_file.put_state(&checkpoint));
        }
    }
}
