//! The locks of std on standard output, standard error and standard input.
//!
//! Any code acquires them: the test, its dependencies, opaque packages, and std's own `print!`. So
//! they are not replaced by a shim. Instead they are made to call the kernel each time: std's mutex
//! is a futex word, and calls the kernel only if the word holds [`CONTENDED`]. The word holds that
//! value even while no task holds the lock. So a thread that locks it waits at the word, and a
//! thread that unlocks it wakes a waiting thread there. Both calls are intercepted, and
//! [`crate::execution::stream_lock`] decides which task holds the lock.

use core::cell::Cell;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::io::{stderr, stdin, stdout};
use std::thread;

use chess_vocabulary::ObjectKind;

use crate::base::sys::{self, number};

/// In a futex word of std: no thread holds the mutex.
const FREE: u32 = 0;
/// In a futex word of std: a thread holds the mutex, and another one waits for it.
const CONTENDED: u32 = 2;

/// Stands for an unknown address of a word.
const NOWHERE: usize = 0;

const KINDS: [ObjectKind; 3] = [ObjectKind::Stdout, ObjectKind::Stderr, ObjectKind::Stdin];

/// In the second thread of [`word_of`], points to the variable that receives the address of the
/// futex word at which this thread waits. Otherwise null.
#[thread_local]
static FOUND: Cell<*const AtomicUsize> = Cell::new(ptr::null());

/// The addresses of the futex words of the three locks. Each is [`NOWHERE`] until the lock is
/// under control.
static WORDS: [AtomicUsize; 3] = [const { AtomicUsize::new(NOWHERE) }; 3];

/// Brings the locks under control. Call it while no task runs and the calling thread holds none of
/// the locks.
pub(crate) fn take_over() {
    let words = [
        word_of(|| stdout().lock()),
        word_of(|| stderr().lock()),
        word_of(|| stdin().lock()),
    ];
    for (place, word) in WORDS.iter().zip(words) {
        if word != NOWHERE {
            place.store(word, Ordering::SeqCst);
            // SAFETY: the word of a lock of std, which lives as long as the process.
            unsafe { close(word) };
        }
    }
}

/// Whether each of the locks is under control.
pub(crate) fn are_known() -> bool {
    !WORDS
        .iter()
        .any(|word| word.load(Ordering::Relaxed) == NOWHERE)
}

/// The stream of the lock whose futex word is at `address`; `None` if no lock under control has
/// its word there.
#[inline]
pub(crate) fn kind_of(address: usize) -> Option<ObjectKind> {
    let is = |word: &AtomicUsize| word.load(Ordering::Relaxed) == address;
    let place = WORDS.iter().position(is).filter(|_| address != NOWHERE)?;
    Some(KINDS[place])
}

/// Lets one thread acquire the lock whose futex word is at `word`.
///
/// # Safety
/// `word` is the address of such a word.
pub(crate) unsafe fn open(word: usize) {
    // SAFETY: the caller passes such an address.
    unsafe { (*(word as *const AtomicU32)).store(FREE, Ordering::SeqCst) };
}

/// Makes the next thread that acquires the lock wait at its futex word.
///
/// # Safety
/// `word` is the address of such a word.
pub(crate) unsafe fn close(word: usize) {
    // SAFETY: the caller passes such an address.
    unsafe { (*(word as *const AtomicU32)).store(CONTENDED, Ordering::SeqCst) };
}

/// Records that the calling thread waits at a futex word, if it is the thread of [`word_of`].
pub(crate) fn note_wait(word: usize) {
    // SAFETY: null, or a variable that `word_of` keeps until this thread has ended.
    if let Some(found) = unsafe { FOUND.get().as_ref() } {
        found.store(word, Ordering::SeqCst);
    }
}

/// The futex word of the lock that `lock` acquires: the word at which a second thread waits while
/// the calling thread holds the lock. [`NOWHERE`] if the second thread does not wait. Returns only
/// when the second thread no longer exists in the kernel. Otherwise this thread would be counted
/// as a thread of the program.
fn word_of<G>(lock: impl Fn() -> G + Sync) -> usize {
    let found = AtomicUsize::new(NOWHERE);
    let id = thread::scope(|scope| {
        let guard = lock();
        let second = scope.spawn(|| {
            FOUND.set(&raw const found);
            drop(lock());
            FOUND.set(ptr::null());
            sys::kernel_thread_id()
        });
        while found.load(Ordering::SeqCst) == NOWHERE && !second.is_finished() {
            thread::yield_now();
        }
        drop(guard);
        second.join()
    });
    while id.as_ref().is_ok_and(|&id| exists(id)) {
        thread::yield_now();
    }
    found.into_inner()
}

/// Whether the kernel still has the thread of this process with this number.
fn exists(thread: c_int) -> bool {
    // SAFETY: the calls read only numbers; signal 0 is not delivered.
    unsafe {
        let process = sys::syscall(number::GETPID, [0; 6]);
        let arguments = [process as usize, thread as usize, 0, 0, 0, 0];
        sys::syscall(number::TGKILL, arguments) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_stds_locks_are_found() {
        let word = word_of(|| stdout().lock());
        assert_ne!(word, NOWHERE);
        assert_eq!(word_of(|| stdout().lock()), word);
        assert_ne!(word_of(|| stderr().lock()), word);
        let guard = stdout().lock();
        // SAFETY: a word of std's lock, which is never unmapped.
        let held = unsafe { (*(word as *const AtomicU32)).load(Ordering::SeqCst) };
        drop(guard);
        assert_ne!(held, FREE);
        assert_eq!(kind_of(word), None, "it is not under control");
    }
}
