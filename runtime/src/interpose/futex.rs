//! Futexes, on which std's own internals and opaque crates block.
//!
//! As in the kernel, a call wakes the tasks that have waited longest, and no other tasks. The
//! program changes the words of the futexes by instructions that the scheduler does not see.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::base::sys::{self, timespec};
use crate::execution::{self, Effect, Op, futex as waiters, opaque, stream_lock};
use crate::platform::stack_pool::pool;
use crate::platform::streams;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const PRIVATE: usize = 128;
const CLOCK_REALTIME: usize = 256;
const ANY: u32 = u32::MAX;

/// Performs the futex system call of a task. Returns the kernel's result, or the
/// positive error number on failure.
///
/// Operations on priority-inheriting futexes fail with `ENOSYS`, as in kernels that are built
/// without these operations. Callers must have a fallback for such kernels.
///
/// # Safety
/// The requirements are those of the system call.
pub(super) unsafe fn call(
    [word, operation, value, time, other, bits]: [usize; 6],
) -> Result<usize, c_int> {
    let aligned = |address: usize| address.is_multiple_of(size_of::<u32>());
    if !aligned(word) {
        return Err(sys::EINVAL);
    }
    let operation = operation & !(PRIVATE | CLOCK_REALTIME);
    // SAFETY: the caller passes live futex words, and null or a time where one belongs.
    unsafe {
        if is_stream(word) {
            return Ok(call_of_stream(word, operation));
        }
        match operation {
            WAIT => wait(word, value as u32, relative(time)?, ANY),
            WAIT_BITSET => wait(word, value as u32, absolute(time)?, bits as u32),
            WAKE => Ok(wake(word, value, ANY)),
            WAKE_BITSET if bits as u32 == 0 => Err(sys::EINVAL),
            WAKE_BITSET => Ok(wake(word, value, bits as u32)),
            REQUEUE | CMP_REQUEUE | WAKE_OP if !aligned(other) => Err(sys::EINVAL),
            // The fourth argument is a number here.
            REQUEUE => requeue(word, None, value, other, time),
            CMP_REQUEUE => requeue(word, Some(bits as u32), value, other, time),
            WAKE_OP => wake_op(word, value, other, time, bits as u32),
            _ => Err(sys::ENOSYS),
        }
    }
}

/// Handles a futex system call of a thread that is not a task, if `word` belongs to the lock of a
/// standard stream. Otherwise returns `None`, and the call must go to the kernel.
pub(super) fn call_of_thread(word: usize, operation: usize) -> Option<usize> {
    let is_wait = matches!(operation & !(PRIVATE | CLOCK_REALTIME), WAIT | WAIT_BITSET);
    if is_wait {
        streams::note_wait(word);
    }
    if !is_stream(word) {
        return None;
    }
    // SAFETY: the word of a stream's lock.
    unsafe {
        if is_wait {
            streams::open(word);
        } else {
            streams::close(word);
        }
    }
    Some(0)
}

/// Whether the lock of a standard stream has this futex word.
fn is_stream(word: usize) -> bool {
    streams::kind_of(word).is_some()
}

/// Locks a standard stream for a task if `operation` waits, otherwise unlocks the stream. Returns
/// 0, the result of the system call.
unsafe fn call_of_stream(word: usize, operation: usize) -> usize {
    // SAFETY: the caller passes the word of such a lock.
    unsafe {
        match operation {
            WAIT | WAIT_BITSET => stream_lock::lock(word),
            _ => stream_lock::unlock(word),
        }
    }
    0
}

/// Returns the deadline of `FUTEX_WAIT`, whose argument `time` is a duration.
unsafe fn relative(time: usize) -> Result<Option<u64>, c_int> {
    // SAFETY: the caller passes null or a readable time.
    let duration = unsafe { absolute(time)? };
    Ok(duration.map(|nanos| execution::now().saturating_add(nanos)))
}

/// Returns the deadline of the operations whose argument `time` is a point in time. The clock does
/// not matter, because all clocks of a task show the same time.
unsafe fn absolute(time: usize) -> Result<Option<u64>, c_int> {
    if time == 0 {
        return Ok(None);
    }
    // SAFETY: the caller passes a readable time.
    unsafe { super::locks::moment(time as *const timespec) }
}

/// The number of waiters to wake, from the argument `value`. It is at least one, even for 0 or a
/// negative value, as in the kernel.
fn count_of(value: usize) -> usize {
    usize::try_from(value as c_int).unwrap_or(1).max(1)
}

unsafe fn load(word: usize) -> u32 {
    // SAFETY: the caller passes a live futex word.
    unsafe { (*(word as *const AtomicU32)).load(Ordering::SeqCst) }
}

unsafe fn wait(
    word: usize,
    expected: u32,
    deadline: Option<u64>,
    bits: u32,
) -> Result<usize, c_int> {
    if bits == 0 {
        return Err(sys::EINVAL);
    }
    opaque::arrive(Op::FutexWait, word);
    // SAFETY: the caller passes a live futex word.
    if unsafe { load(word) } != expected {
        opaque::record(Op::FutexWait, word, Effect::Read);
        return Err(sys::EAGAIN);
    }
    if waiters::wait(word, bits, deadline) {
        Err(sys::ETIMEDOUT)
    } else {
        Ok(0)
    }
}

fn wake(word: usize, count: usize, bits: u32) -> usize {
    opaque::arrive(Op::FutexWake, word);
    let woken = waiters::wake(word, bits, count_of(count));
    opaque::record(Op::FutexWake, word, Effect::Write);
    woken
}

/// Wakes at most `count` waiters of `word`. Moves at most `most` of the remaining waiters to the
/// queue of `other`. Returns the number of woken and moved waiters. Fails if the value of `word`
/// is not `expected`; `None` permits any value.
unsafe fn requeue(
    word: usize,
    expected: Option<u32>,
    count: usize,
    other: usize,
    most: usize,
) -> Result<usize, c_int> {
    let number = |value: usize| usize::try_from(value as c_int).map_err(|_| sys::EINVAL);
    let (count, most) = (number(count)?, number(most)?);
    opaque::arrive(Op::FutexRequeue, word);
    // SAFETY: the caller passes a live futex word.
    if expected.is_some_and(|expected| unsafe { load(word) } != expected) {
        opaque::record(Op::FutexRequeue, word, Effect::Read);
        return Err(sys::EAGAIN);
    }
    let woken = waiters::wake(word, ANY, count);
    let moved = waiters::requeue(word, other, most);
    opaque::record(Op::FutexRequeue, word, Effect::Write);
    opaque::record(Op::FutexRequeue, other, Effect::Write);
    Ok(woken + moved)
}

/// Changes the word at `other` as `how` specifies, and wakes waiters of `word`. If the former
/// value of the changed word passes the comparison in `how`, also wakes waiters of `other`.
unsafe fn wake_op(
    word: usize,
    count: usize,
    other: usize,
    count_other: usize,
    how: u32,
) -> Result<usize, c_int> {
    opaque::arrive(Op::FutexWake, word);
    // SAFETY: the caller passes a live futex word.
    let passes = unsafe { change(&*(other as *const AtomicU32), how)? };
    let mut woken = waiters::wake(word, ANY, count_of(count));
    opaque::record(Op::FutexWake, word, Effect::Write);
    if passes {
        woken += waiters::wake(other, ANY, count_of(count_other));
    }
    opaque::record(Op::FutexWake, other, Effect::Write);
    Ok(woken)
}

/// Performs the operation of `FUTEX_WAKE_OP` on `word`. `how` encodes the operation and a
/// comparison. Returns whether the former value passes the comparison.
fn change(word: &AtomicU32, how: u32) -> Result<bool, c_int> {
    const SHIFT: u32 = 8;
    let signed = |bits: u32| (bits << 20).cast_signed() >> 20;
    let (operation, comparison) = (how >> 28, how >> 24 & 15);
    let (argument, compared) = (signed(how >> 12 & 0xfff), signed(how & 0xfff));
    let argument = if operation & SHIFT == 0 {
        argument.cast_unsigned()
    } else {
        1 << (argument & 31)
    };
    let order = Ordering::SeqCst;
    let old = match operation & !SHIFT {
        0 => word.swap(argument, order),
        1 => word.fetch_add(argument, order),
        2 => word.fetch_or(argument, order),
        3 => word.fetch_and(!argument, order),
        4 => word.fetch_xor(argument, order),
        _ => return Err(sys::ENOSYS),
    };
    let old = old.cast_signed();
    Ok(match comparison {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return Err(sys::ENOSYS),
    })
}

/// The id of the kernel thread of the donor, which lends its stack and thread-locals to the
/// running task. 0 if the caller is not a task.
pub(super) fn task_thread_id() -> c_int {
    let Some(execution) = execution::running() else {
        return 0;
    };
    // SAFETY: one thread at a time runs code of the engine.
    unsafe {
        (*pool())
            .get(execution.with(|it| it.running().donor))
            .kernel_thread
    }
}

/// libc's `gettid`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> c_int {
    if execution::active() {
        task_thread_id()
    } else {
        sys::kernel_thread_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs the arguments as `FUTEX_OP` of the kernel's header does.
    fn packed(operation: u32, argument: u32, comparison: u32, compared: u32) -> u32 {
        operation << 28 | comparison << 24 | (argument & 0xfff) << 12 | compared & 0xfff
    }

    #[test]
    fn a_wake_operation_changes_the_word_and_compares_the_old_value() {
        let word = AtomicU32::new(2);
        assert_eq!(change(&word, packed(0, 5, 0, 2)), Ok(true), "set; was 2");
        assert_eq!(change(&word, packed(1, 3, 2, 5)), Ok(false), "add; was 5");
        assert_eq!(word.load(Ordering::Relaxed), 8);
        let minus_one = u32::MAX;
        assert_eq!(change(&word, packed(1, minus_one, 4, minus_one)), Ok(true));
        assert_eq!(word.load(Ordering::Relaxed), 7);
        assert_eq!(
            change(&word, packed(3 | 8, 0, 5, 7)),
            Ok(true),
            "clear bit 0"
        );
        assert_eq!(word.load(Ordering::Relaxed), 6);
        assert_eq!(change(&word, packed(4, 6, 3, 5)), Ok(false), "xor; was 6");
        assert_eq!(word.load(Ordering::Relaxed), 0);
        assert_eq!(change(&word, packed(7, 0, 0, 0)), Err(sys::ENOSYS));
    }
}
