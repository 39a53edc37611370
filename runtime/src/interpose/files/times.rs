//! The times of files: when a file was created, changed and read, on the virtual clock.
//!
//! The kernel dates each change by the real clock, which a task never sees. So the runtime keeps
//! the virtual times of the files that the tasks of the execution have changed, and replaces the
//! kernel's times in the results of `stat` and similar functions. The kernel's times remain useful
//! in two ways:
//!
//! - A file that is older than the execution must look older ([`before_the_start`]).
//! - A change that the runtime did not see, for instance by a child process, has a later time in
//!   the kernel than all changes that the runtime saw. It gets the virtual time at which a task
//!   first looks at it.
//!
//! A read of a file does not change its times, as on a file system that is mounted with `noatime`.

use core::ffi::{c_int, c_long, c_void};
use core::ops::RangeInclusive;

use super::inode::Inode;
use super::known::known;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::real;
use crate::base::sys::timespec;
use crate::execution::{Execution, START_OF_TIME, with};

/// A point in time: the number of nanoseconds since 1970. Negative numbers are times before 1970.
type Nanos = i128;

const SECOND: Nanos = 1_000_000_000;

/// An upper limit of the difference between the real time of a change and the kernel's time for it.
/// The kernel's clock may be late by a tick of its timer, and some file systems keep only whole
/// seconds.
const COARSENESS: Nanos = 2 * SECOND;

/// The longest tick of the kernel's timer.
const TICK: Nanos = SECOND / 100;

/// A virtual time, and the kernel's times that stand for it. The kernel has another time if the
/// runtime did not see the last change.
struct Moment {
    at: Nanos,
    real: RangeInclusive<Nanos>,
}

/// The times of a file that the execution has changed. `None` stands for the kernel's time.
struct Dated {
    /// The number of the device, and the inode number of the file on it.
    file: (u64, u64),
    accessed: Option<Moment>,
    modified: Option<Moment>,
    changed: Option<Moment>,
    created: Option<Moment>,
}

/// The times of a file, as the kernel gives them or as a task sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    accessed: Nanos,
    modified: Nanos,
    changed: Nanos,
    /// `None` for functions that do not report this time.
    created: Option<Nanos>,
}

impl Seen {
    /// Returns the times that a task sees of a file that was changed before the execution.
    fn before_the_start(self) -> Self {
        Self {
            accessed: before_the_start(self.accessed),
            modified: before_the_start(self.modified),
            changed: before_the_start(self.changed),
            created: self.created.map(before_the_start),
        }
    }
}

/// The times of the files of one execution.
pub(super) struct Times {
    /// The files that the execution has changed, sorted.
    dated: EngineVec<Dated>,
    /// The real time before the first call of the execution that may change a file; `None` if there
    /// was no such call.
    start: Option<Nanos>,
    /// Whether files may change without calls of tasks.
    others_write: bool,
}

impl Times {
    pub(super) const fn new() -> Self {
        Self {
            dated: engine_vec(),
            start: None,
            others_write: false,
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.dated.clear();
        self.start = None;
        self.others_write = false;
    }

    /// Must be called before each call on files.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.start.get_or_insert_with(real_now);
    }

    /// Returns the latest time of the kernel that counts as a time before this execution. The
    /// kernel may date a change up to a tick too early, and so before the start. If there may be
    /// changes that the runtime does not see, all changes in the last tick before the start count
    /// as such changes.
    fn last_before(&self) -> Nanos {
        let start = self.start.unwrap_or(Nanos::MAX);
        if self.others_write {
            start - TICK
        } else {
            start
        }
    }

    fn of(&mut self, file: (u64, u64)) -> &mut Dated {
        let place = self.dated.binary_search_by_key(&file, |dated| dated.file);
        let place = place.unwrap_or_else(|place| {
            let new = Dated {
                file,
                accessed: None,
                modified: None,
                changed: None,
                created: None,
            };
            self.dated.insert(place, new);
            place
        });
        &mut self.dated[place]
    }

    /// Returns the times that a task sees of `file`, to which the kernel gives the times `kernel`.
    fn seen(&mut self, file: (u64, u64), kernel: Seen, now: impl Fn() -> Nanos) -> Seen {
        let last_before = self.last_before();
        let is_known = self.dated.binary_search_by_key(&file, |dated| dated.file);
        // A program can set the other times to times that are still to come.
        let is_new = kernel.changed > last_before;
        if is_known.is_err() && !is_new {
            return kernel.before_the_start();
        }
        let mut latest = None;
        let mut see = |moment: &mut Option<Moment>, kernel: Nanos| match moment {
            Some(moment) if moment.real.contains(&kernel) => moment.at,
            _ if is_new && kernel > last_before => {
                let at = *latest.get_or_insert_with(&now);
                *moment = Some(Moment {
                    at,
                    real: kernel..=kernel,
                });
                at
            }
            _ => before_the_start(kernel),
        };
        let dated = self.of(file);
        let created = kernel.created.map(|time| see(&mut dated.created, time));
        let modified = see(&mut dated.modified, kernel.modified);
        let changed = see(&mut dated.changed, kernel.changed);
        let accessed = dated.accessed.as_ref().map(|moment| moment.at);
        Seen {
            accessed: accessed.unwrap_or_else(|| before_the_start(kernel.accessed)),
            modified,
            changed,
            created,
        }
    }
}

/// Returns the time that a task sees for the real time `real` of a change before the execution.
///
/// Virtual time begins in the past, so most real times would lie in the future of the test. All
/// times later than one day before the start of virtual time are compressed into this day: they
/// keep their order, and do not depend on the time of the test run. Times that differ by less than
/// 65 microseconds may become equal.
fn before_the_start(real: Nanos) -> Nanos {
    /// The logarithm of the length of this day: 19.5 hours.
    const DAY: u32 = 46;
    /// The logarithm of the factor of the compression. The day has room for 146 years.
    const FACTOR: u32 = 16;
    let first = Nanos::from(START_OF_TIME) - (1 << DAY);
    if real <= first {
        return real;
    }
    first + ((real - first) >> FACTOR).min((1 << DAY) - 1)
}

fn nanos(time: timespec) -> Nanos {
    Nanos::from(time.tv_sec) * SECOND + Nanos::from(time.tv_nsec)
}

fn from_nanos(nanos: Nanos) -> timespec {
    timespec {
        tv_sec: nanos.div_euclid(SECOND) as i64,
        tv_nsec: nanos.rem_euclid(SECOND) as i64,
    }
}

fn real_now() -> Nanos {
    const CLOCK_REALTIME: c_int = 0;
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    unsafe { real::clock_gettime(CLOCK_REALTIME, &raw mut now) };
    nanos(now)
}

/// Returns the virtual time at which the running task changes a file.
fn virtual_now() -> Nanos {
    with(Execution::date_change).map_or(0, Nanos::from)
}

/// Returns the entry of a file, and the moment of a change that has just been made to it.
fn now(file: Inode) -> (&'static mut Dated, impl Fn() -> Option<Moment>) {
    let (at, real) = (virtual_now(), real_now());
    let times = &mut known().times;
    let first = times.start.unwrap_or(real) - COARSENESS;
    let moment = move || {
        Some(Moment {
            at,
            real: first..=real,
        })
    };
    (times.of((file.device, file.number)), moment)
}

/// The running task has created `file`.
pub(super) fn created(file: Inode) {
    let (dated, now) = now(file);
    (dated.accessed, dated.modified) = (now(), now());
    (dated.changed, dated.created) = (now(), now());
}

/// The running task has changed the bytes of `file`, or the entries of the directory `file`.
pub(super) fn modified(file: Inode) {
    let (dated, now) = now(file);
    (dated.modified, dated.changed) = (now(), now());
}

/// The running task has changed attributes of `file`, or its links.
pub(super) fn changed(file: Inode) {
    let (dated, now) = now(file);
    dated.changed = now();
}

/// The running task has set the times of `file`: that of the last access, and that of the last
/// modification. `times` is the argument of `utimensat`.
///
/// # Safety
/// `times` is null, or the kernel has accepted it.
pub(super) unsafe fn set(file: Inode, times: *const c_void) {
    const UTIME_NOW: c_long = (1 << 30) - 1;
    const UTIME_OMIT: c_long = (1 << 30) - 2;
    let (dated, now) = now(file);
    let set = |moment: &mut Option<Moment>, place: usize| {
        if times.is_null() {
            *moment = now();
            return;
        }
        // SAFETY: the caller's promise: there are two times.
        let time = unsafe { *times.cast::<timespec>().add(place) };
        match time.tv_nsec {
            UTIME_OMIT => {}
            UTIME_NOW => *moment = now(),
            _ => {
                let at = nanos(time);
                *moment = Some(Moment {
                    at,
                    real: at - COARSENESS..=at,
                });
            }
        }
    };
    set(&mut dated.accessed, 0);
    set(&mut dated.modified, 1);
    dated.changed = now();
}

/// Replaces the kernel's times in `stat`, the result of a successful call of `stat`.
///
/// # Safety
/// `stat` points to C's `struct stat`.
pub(super) unsafe fn show_in_stat(stat: *mut c_void) {
    /// The places of the fields, in words.
    const DEVICE: usize = 0;
    const NUMBER: usize = 1;
    const MODE: usize = 3;
    const ACCESSED: usize = 9;
    const MODIFIED: usize = 11;
    const CHANGED: usize = 13;
    let words = stat.cast::<u64>();
    // SAFETY: the caller's promise: the structure has 18 words.
    unsafe {
        let inode = Inode {
            device: *words.add(DEVICE),
            number: *words.add(NUMBER),
            mode: *words.add(MODE) as u32,
        };
        let time = |place: usize| words.add(place).cast::<timespec>();
        let seen = see(
            inode,
            Seen {
                accessed: nanos(*time(ACCESSED)),
                modified: nanos(*time(MODIFIED)),
                changed: nanos(*time(CHANGED)),
                created: None,
            },
        );
        *time(ACCESSED) = from_nanos(seen.accessed);
        *time(MODIFIED) = from_nanos(seen.modified);
        *time(CHANGED) = from_nanos(seen.changed);
    }
}

/// As [`show_in_stat`], for a result of `statx`.
///
/// # Safety
/// `statx` points to C's `struct statx`.
pub(super) unsafe fn show_in_statx(statx: *mut c_void) {
    const CREATED_IS_KNOWN: u32 = 0x800;
    // SAFETY: the caller's promise.
    unsafe {
        let statx = &mut *statx.cast::<StatX>();
        let (major, minor) = (u64::from(statx.major), u64::from(statx.minor));
        let inode = Inode {
            // The kernel's encoding of a device in `struct stat`.
            device: (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12),
            number: statx.number,
            mode: u32::from(statx.mode),
        };
        let is_created_known = statx.mask & CREATED_IS_KNOWN != 0;
        let seen = see(
            inode,
            Seen {
                accessed: statx.accessed.nanos(),
                modified: statx.modified.nanos(),
                changed: statx.changed.nanos(),
                created: is_created_known.then(|| statx.created.nanos()),
            },
        );
        statx.accessed = StatXTime::from_nanos(seen.accessed);
        statx.modified = StatXTime::from_nanos(seen.modified);
        statx.changed = StatXTime::from_nanos(seen.changed);
        if let Some(created) = seen.created {
            statx.created = StatXTime::from_nanos(created);
        }
    }
}

/// C's `struct statx_timestamp`.
#[repr(C)]
struct StatXTime {
    seconds: i64,
    nanos: u32,
    padding: i32,
}

impl StatXTime {
    fn nanos(&self) -> Nanos {
        Nanos::from(self.seconds) * SECOND + Nanos::from(self.nanos)
    }

    fn from_nanos(nanos: Nanos) -> Self {
        let time = from_nanos(nanos);
        Self {
            seconds: time.tv_sec,
            nanos: time.tv_nsec as u32,
            padding: 0,
        }
    }
}

/// The part of C's `struct statx` up to the device.
#[repr(C)]
struct StatX {
    mask: u32,
    unused: [u32; 6],
    mode: u16,
    number: u64,
    also_unused: [u64; 3],
    accessed: StatXTime,
    created: StatXTime,
    changed: StatXTime,
    modified: StatXTime,
    device_of_file: [u32; 2],
    major: u32,
    minor: u32,
}

/// Returns the times that a task sees of the file `inode`, to which the kernel gives the times
/// `kernel`.
fn see(inode: Inode, kernel: Seen) -> Seen {
    let times = &mut known().times;
    if inode.is_file() || inode.is_directory() || inode.is_link() {
        times.seen((inode.device, inode.number), kernel, virtual_now)
    } else {
        kernel.before_the_start()
    }
}

/// From now on, the execution may change files without calls of tasks: it has started a process, or
/// has mapped a file into memory.
pub(in super::super) fn others_write() {
    let times = &mut known().times;
    times.begin();
    times.others_write = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = 1_750_000_000 * SECOND;
    /// The real time of the tests: some years after the start of virtual time.
    const REAL: Nanos = START + 100_000_000 * SECOND;
    const FILE: (u64, u64) = (1, 2);

    fn at(time: Nanos) -> Seen {
        Seen {
            accessed: time,
            modified: time,
            changed: time,
            created: Some(time),
        }
    }

    #[test]
    fn old_files_keep_their_order_and_are_older_than_the_execution() {
        let first = START - (1 << 46);
        let real = [
            -SECOND,
            0,
            first,
            first + (1 << 16),
            START,
            START + SECOND,
            REAL,
            REAL + TICK,
        ];
        let seen = real.map(before_the_start);
        assert_eq!(seen[..3], real[..3]);
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
        assert!(seen[7] < START);
        assert!(before_the_start(Nanos::from(i64::MAX) * SECOND) < START);
    }

    #[test]
    fn times_before_1970_keep_their_nanoseconds() {
        let time = from_nanos(-1);
        assert_eq!((time.tv_sec, time.tv_nsec), (-1, 999_999_999));
        assert_eq!(nanos(time), -1);
    }

    #[test]
    fn a_change_that_no_task_made_gets_the_time_of_the_first_look() {
        let mut times = Times::new();
        times.start = Some(REAL);
        let old = times.seen(FILE, at(REAL), || unreachable!());
        assert_eq!(old, at(before_the_start(REAL)));
        let mut seen = times.seen(FILE, at(REAL + 1), || START + 5);
        seen.accessed = START + 5;
        assert_eq!(seen, at(START + 5));
        // The second look shows the same time, until the file changes again.
        let again = times.seen(FILE, at(REAL + 1), || unreachable!());
        assert_eq!(again.modified, START + 5);
        let later = times.seen(FILE, at(REAL + 2), || START + 9);
        assert_eq!(later.modified, START + 9);
    }

    #[test]
    fn a_child_process_may_write_within_a_tick_of_the_start() {
        let mut times = Times::new();
        times.start = Some(REAL);
        let dated = at(REAL - TICK / 2);
        let before = times.seen(FILE, dated, || unreachable!());
        assert!(before.modified < START);
        times.others_write = true;
        let after = times.seen(FILE, dated, || START + 5);
        assert_eq!(after.modified, START + 5);
    }
}
