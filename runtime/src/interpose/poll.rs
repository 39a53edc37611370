//! `poll` and `select`: waiting for several descriptors.

use core::ffi::{c_int, c_ulong, c_void};

use super::call::{admit, wait_for};
use super::{time as clock, timerfd};
use crate::base::sys::{self, number, timespec, timeval};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor::{self, POLLIN, POLLOUT, POLLPRI, PollEntry};

/// Waits as a task, for at most `time` of virtual time, until one of `entries` is ready. Returns
/// the number of ready entries. If `time` is 0, only checks the entries. If `time` is `None`,
/// waits without limit.
fn wait(entries: &mut [PollEntry], time: Option<u64>) -> isize {
    let object = match entries {
        [only] => {
            let descriptor = only.descriptor;
            execution::descriptor_object(descriptor, descriptor::look(descriptor))
        }
        _ => 0,
    };
    let outside = |entry: &PollEntry| execution::is_outside(entry.descriptor, entry.wanted);
    let outside = entries.iter().any(outside);
    if !outside {
        execution::before_call(Op::Poll, object);
    }
    let deadline = time.map(|time| execution::now().saturating_add(time));
    let ends = time == Some(0);
    if outside && !ends {
        wait_for(Op::Poll, object, entries, deadline, outside);
    }
    loop {
        timerfd::fire();
        let ready = descriptor::poll_now(entries);
        let is_over = deadline.is_some_and(|deadline| deadline <= execution::now());
        if ready != 0 || ends || is_over {
            if !outside {
                execution::after_call(Op::Poll, object, Effect::Read);
            } else if ready == 0 {
                execution::yield_to_outside();
            }
            return ready;
        }
        wait_for(Op::Poll, object, entries, deadline, outside);
    }
}

/// libc's `poll`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn poll(
    entries: *mut PollEntry,
    count: c_ulong,
    milliseconds: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let arguments = [
                entries as usize,
                count as usize,
                milliseconds as usize,
                0,
                0,
                0,
            ];
            return sys::libc_result(sys::syscall(number::POLL, arguments)) as c_int;
        }
        let time = u64::try_from(milliseconds).ok();
        poll_as_task(entries, count, time.map(|time| time * 1_000_000))
    }
}

/// libc's `ppoll`. If the caller is a task, the mask `signals` is ignored.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ppoll(
    entries: *mut PollEntry,
    count: c_ulong,
    time: *const timespec,
    signals: *const c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if !active() {
            let time = time.as_ref().copied();
            let time_at = time
                .as_ref()
                .map_or(0, |time| core::ptr::from_ref(time).addr());
            let arguments = [
                entries as usize,
                count as usize,
                time_at,
                signals as usize,
                8,
                0,
            ];
            return sys::libc_result(sys::syscall(number::PPOLL, arguments)) as c_int;
        }
        match clock::limit(time.as_ref()) {
            Ok(time) => poll_as_task(entries, count, time),
            Err(error) => sys::libc_result(error) as c_int,
        }
    }
}

unsafe fn poll_as_task(entries: *mut PollEntry, count: c_ulong, time: Option<u64>) -> c_int {
    let count = count as usize;
    admit(entries as usize, count * size_of::<PollEntry>());
    let entries = if count == 0 {
        &mut []
    } else {
        // SAFETY: the caller passes `count` writable entries.
        unsafe { core::slice::from_raw_parts_mut(entries, count) }
    };
    sys::libc_result(wait(entries, time)) as c_int
}

/// The highest number of descriptors in a set of `select`.
const SET_SIZE: usize = 1024;

/// C's `fd_set`.
#[repr(C)]
pub(super) struct Set([u64; SET_SIZE / 64]);

impl Set {
    fn has(&self, descriptor: usize) -> bool {
        self.0[descriptor / 64] >> (descriptor % 64) & 1 != 0
    }

    fn add(&mut self, descriptor: usize) {
        self.0[descriptor / 64] |= 1 << (descriptor % 64);
    }
}

/// Performs a task's `select` as a `poll` of all descriptors in the sets. If `time` is an error,
/// it is the result.
unsafe fn select_as_task(
    limit: c_int,
    sets: [*mut Set; 3],
    time: Result<Option<u64>, isize>,
) -> c_int {
    const WANTED: [i16; 3] = [POLLIN, POLLOUT, POLLPRI];
    /// For each set, the poll events that put a descriptor into the set. Errors put it into the
    /// first two sets, and a hang-up puts it into the first set, as in the kernel.
    const MEANS: [i16; 3] = [0x59, 0x10c, POLLPRI];
    const POLLNVAL: i16 = 0x20;
    let (limit, time) = match (usize::try_from(limit), time) {
        (Ok(limit), Ok(time)) => (limit.min(SET_SIZE), time),
        (_, Err(error)) => return sys::libc_result(error) as c_int,
        (Err(_), _) => return sys::libc_failure(sys::EINVAL),
    };
    let mut entries = [PollEntry::new(-1, 0); SET_SIZE];
    let mut count = 0;
    // SAFETY: the caller passes null or sets, which hold nothing at or past the limit.
    let mut sets = sets.map(|set| unsafe { set.as_mut() });
    for descriptor in 0..limit {
        let mut wanted = 0;
        for (set, bits) in sets.iter().zip(WANTED) {
            if set.as_ref().is_some_and(|set| set.has(descriptor)) {
                wanted |= bits;
            }
        }
        if wanted != 0 {
            entries[count] = PollEntry::new(descriptor as c_int, wanted);
            count += 1;
        }
    }
    let entries = &mut entries[..count];
    let result = wait(entries, time);
    if result < 0 {
        return sys::libc_result(result) as c_int;
    }
    if entries.iter().any(|entry| entry.got & POLLNVAL != 0) {
        return sys::libc_failure(sys::EBADF);
    }
    let mut ready = 0;
    for ((set, wanted), means) in sets.iter_mut().zip(WANTED).zip(MEANS) {
        let Some(set) = set else { continue };
        for word in &mut set.0[..limit.div_ceil(64)] {
            *word = 0;
        }
        for entry in &*entries {
            if entry.wanted & wanted != 0 && entry.got & means != 0 {
                set.add(entry.descriptor as usize);
                ready += 1;
            }
        }
    }
    ready
}

/// libc's `select`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn select(
    limit: c_int,
    readable: *mut Set,
    writable: *mut Set,
    exceptional: *mut Set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let sets = [readable, writable, exceptional];
        if !active() {
            let [a, b, c] = sets.map(|set| set as usize);
            let arguments = [limit as usize, a, b, c, time as usize, 0];
            return sys::libc_result(sys::syscall(number::SELECT, arguments)) as c_int;
        }
        // The microseconds may be more than a second.
        let time = time.as_ref().map(|time| timespec {
            tv_sec: time.tv_sec.saturating_add(time.tv_usec / 1_000_000),
            tv_nsec: time.tv_usec % 1_000_000 * 1_000,
        });
        select_as_task(limit, sets, clock::limit(time.as_ref()))
    }
}

/// libc's `pselect`. If the caller is a task, the mask `signals` is ignored.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pselect(
    limit: c_int,
    readable: *mut Set,
    writable: *mut Set,
    exceptional: *mut Set,
    time: *const timespec,
    signals: *const c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        let sets = [readable, writable, exceptional];
        if !active() {
            let [a, b, c] = sets.map(|set| set as usize);
            let time = time.as_ref().copied();
            let time_at = time
                .as_ref()
                .map_or(0, |time| core::ptr::from_ref(time).addr());
            // The kernel takes the set of signals and its size in a structure.
            let signals = [signals as usize, 8];
            let signals_at = &raw const signals as usize;
            let arguments = [limit as usize, a, b, c, time_at, signals_at];
            return sys::libc_result(sys::syscall(number::PSELECT6, arguments)) as c_int;
        }
        select_as_task(limit, sets, clock::limit(time.as_ref()))
    }
}
