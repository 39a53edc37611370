//! What lies outside the process: who else can make a descriptor ready, and the
//! real wait for it.
//!
//! The outside answers when it likes, which no schedule could repeat. So it is
//! taken to be slower than every task: it is asked only when no task can go on,
//! or when the only one that can does nothing but yield. Then the process waits
//! in the kernel, no longer than until the earliest deadline.

use core::ffi::c_int;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use super::descriptors::Descriptors;
use super::schedule::Step;
use super::state::Execution;
use super::task::Wait;
use super::{Site, perform, running};
use crate::engine::engine;
use crate::harness::short_path;
use crate::platform::descriptor::{self, Identity, Kind, POLLIN, POLLOUT, PollEntry};
use crate::platform::memory::{EngineVec, engine_vec};
use crate::platform::socket;
use crate::platform::sys::{self, number, timespec};

/// How long a task that only yields is held up to give the outside time.
const BREATH: u64 = 1_000_000;
/// How long one who waits for the outside is held up for the others who do, in
/// milliseconds: at first, and at least. In which order they go on is then the
/// search's choice, not the outside's.
pub(super) const GRACE: u32 = 1_000;
const LEAST_GRACE: u32 = 4;
/// An `epoll` descriptor can watch another one; so deep is looked.
const DEPTH: u32 = 4;

const CHILD: &str = "waited for a child process";
const PROCESS: &str = "waited for another process";
const PIPE: &str = "used a pipe whose other end is outside the process";
const SOCKET: &str = "used a socket whose peer is outside the process";
const DEVICE: &str = "used a terminal or another device";
const SIGNALS: &str = "waited for signals";
const FILES: &str = "waited for changes of files";
const STRANGE: &str = "used a descriptor of a kind that is not known";

impl Execution {
    /// Whether the outside is to be asked where no task can go on.
    #[inline]
    pub(super) fn awaits_outside(&self) -> bool {
        (self.descriptors.waiting > 0 || !self.descriptors.children.is_empty()) && !self.body_done
    }

    /// Blocks the current task for the outside. How often that happens is up to
    /// the outside, so it is no step.
    pub(super) fn sleep_uncounted(&mut self, wait: Wait, deadline: Option<u64>) -> Step {
        self.pulse += 1;
        self.block(wait, deadline);
        self.choose_next(false)
    }

    /// The current task found nothing outside, and would only ask again.
    fn yield_uncounted(&mut self) -> Step {
        self.pulse += 1;
        self.wait_outside(true);
        self.choose_next(true)
    }

    /// Where no task can go on but by timing out, waits in the kernel until the
    /// outside has made something ready, and enables who waits for it. If
    /// `yielded` and no other task can go on, gives the outside a little time.
    #[cold]
    pub(super) fn wait_outside(&mut self, yielded: bool) {
        let (first, second) = {
            let late = &self.late;
            let mut runnable = self.enabled.iter().filter(|&task| !late.contains(task));
            (runnable.next(), runnable.next())
        };
        let stuck = first.is_none();
        let only_yields = yielded && first == Some(self.current) && second.is_none();
        if !stuck && !only_yields {
            return;
        }
        if stuck && self.descriptors.waiting == 0 && self.late.is_empty() {
            return;
        }
        loop {
            if stuck && self.descriptors.watchful {
                self.wait_for_the_others();
            }
            if self.wake_ready(true) {
                return;
            }
            // Finding out costs more than everything else here.
            let worth_it = self.descriptors.watchful || self.enabled.is_empty();
            if !worth_it || !self.gather() {
                return;
            }
            let limit = if stuck {
                self.until_deadline()
            } else {
                Some(BREATH)
            };
            if !self.wait_in_kernel(limit) {
                return;
            }
            if limit.is_some() && !self.wakes_by_now() {
                // A child has ended that nobody waits for.
                return;
            }
        }
    }

    /// Whether what somebody waits for is ready.
    fn wakes_by_now(&self) -> bool {
        self.all_awaited()
            .any(|(_, entries, _)| descriptor::poll_now(entries) != 0)
    }

    /// Once one who waits for the outside is answered, gives the others time to be
    /// answered, too. Less each time that this was in vain: some wait for what
    /// only the answered one will cause.
    fn wait_for_the_others(&mut self) {
        const MILLISECOND: timespec = timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        for _ in 0..self.descriptors.grace {
            let (mut answered, mut waiting) = (false, false);
            for (_, entries, _) in self.all_awaited().filter(|(_, _, outside)| *outside) {
                let ready = descriptor::poll_now(entries) != 0;
                answered |= ready;
                waiting |= !ready;
            }
            if !answered || !waiting {
                return;
            }
            let turn = MILLISECOND;
            let time = &raw const turn as usize;
            // SAFETY: no entries, and a time.
            unsafe { sys::syscall(number::PPOLL, [0, 0, time, 0, 8, 0]) };
        }
        self.descriptors.grace = (self.descriptors.grace / 2).max(LEAST_GRACE);
    }

    /// Virtual time until the earliest deadline, which is as much real time.
    fn until_deadline(&self) -> Option<u64> {
        let deadlines = self.late.iter().filter_map(|task| self.task(task).deadline);
        Some(deadlines.min()?.saturating_sub(self.clock))
    }

    /// Collects all that the outside may make ready; whether there is anything.
    fn gather(&mut self) -> bool {
        let mut gathered = core::mem::replace(&mut self.descriptors.gathered, engine_vec());
        gathered.clear();
        self.descriptors.children.retain(|&child| {
            let runs = is_running(child);
            if runs == Some(true) {
                gathered.push(PollEntry::new(open_process(child), POLLIN));
            }
            runs.is_some()
        });
        let handles = gathered.len();
        if handles > 0 {
            note(CHILD);
        }
        for (_, entries, outside) in self.all_awaited() {
            let mut asked = outside || handles > 0;
            // What is known to wait for the outside was told when it was found out.
            let unknown = if outside { &[][..] } else { &*entries };
            for entry in unknown {
                if let Some(sentence) = source(entry.descriptor, entry.wanted, DEPTH) {
                    note(sentence);
                    asked = true;
                }
            }
            if asked {
                gathered.extend_from_slice(entries);
            }
        }
        self.descriptors.handles = handles;
        self.descriptors.gathered = gathered;
        !self.descriptors.gathered.is_empty()
    }

    /// Waits until something of what was gathered is ready, for at most `limit`
    /// nanoseconds; whether something is.
    fn wait_in_kernel(&mut self, limit: Option<u64>) -> bool {
        let gathered = &mut self.descriptors.gathered;
        let time = limit.map(timespec::from_nanos);
        let time = time
            .as_ref()
            .map_or(0, |time| core::ptr::from_ref(time).addr());
        let (at, count) = (gathered.as_mut_ptr() as usize, gathered.len());
        let interrupted = -(sys::EINTR as isize);
        self.descriptors.in_kernel.store(true, Ordering::Relaxed);
        let ready = loop {
            // SAFETY: so many writable entries, and null or a time.
            let ready = unsafe { sys::syscall(number::PPOLL, [at, count, time, 0, 8, 0]) };
            if ready != interrupted {
                break ready;
            }
        };
        self.descriptors.in_kernel.store(false, Ordering::Relaxed);
        for handle in &self.descriptors.gathered[..self.descriptors.handles] {
            descriptor::close(handle.descriptor);
        }
        ready > 0
    }
}

impl Descriptors {
    /// Ends the children that an execution left behind: the next one knows nothing of them.
    pub(crate) fn end_children(&mut self) {
        for child in self.children.drain(..) {
            if is_running(child).is_none() {
                continue;
            }
            let child = child as usize;
            // SAFETY: our own child, not yet waited for; no memory is passed.
            unsafe {
                sys::syscall(number::KILL, [child, sys::SIGKILL as usize, 0, 0, 0, 0]);
                sys::syscall(number::WAIT4, [child, 0, 0, 0, 0, 0]);
            }
        }
    }
}

/// A process was started that the tasks may wait for.
pub(crate) fn add_child(child: c_int) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        (*execution).descriptors.watchful = true;
        (*execution).descriptors.children.push(child);
    }
}

/// A task has waited for `child`, whose number may now be another's.
pub(crate) fn forget_child(child: c_int) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        (*execution)
            .descriptors
            .children
            .retain(|&known| known != child);
    };
}

/// The children that nobody has waited for.
pub(crate) fn children() -> &'static [c_int] {
    running().map_or(&[], |execution| {
        // SAFETY: see `running`; used before the next scheduling point.
        unsafe { (*execution).descriptors.children.as_slice() }
    })
}

/// A task waits for a child process.
pub(crate) fn note_wait_for_child() {
    note(CHILD);
}

/// A socket was connected: from now on it is asked whose sockets are.
pub(crate) fn note_connection(socket: c_int) {
    if let Some(execution) = running()
        && source(socket, POLLIN, 0).is_some()
    {
        // SAFETY: see `running`.
        unsafe { (*execution).descriptors.watchful = true };
    }
}

/// Whether only the outside makes `descriptor` ready for `wanted`.
#[inline]
pub(crate) fn is_outside(descriptor: c_int, wanted: i16) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    // SAFETY: see `running`.
    unsafe {
        if !(*execution).descriptors.watchful
            && descriptor >= (*engine()).process.first_descriptor()
        {
            return false;
        }
        let Some(sentence) = source(descriptor, wanted, 0) else {
            return false;
        };
        (*execution).descriptors.watchful = true;
        note(sentence);
    }
    true
}

/// The outside had nothing to tell: a yield, if the task only asks again.
pub(crate) fn yield_to_outside() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe { perform((*execution).yield_uncounted()) };
}

/// Keeps what the user is told of the outside.
pub(crate) fn note(sentence: &'static str) {
    // SAFETY: one task runs at a time, and holds no reference to this.
    let known = unsafe { &mut (*engine()).exploration.outside };
    if !known.contains(&sentence) {
        known.push(sentence);
    }
}

/// As [`note`], for what the program did at `site`.
pub(crate) fn note_at(what: fmt::Arguments<'_>, site: Site) {
    let mut sentence = Sentence(engine_vec());
    let _ = write!(
        sentence,
        "{what}, at {}:{}",
        short_path(site.file()),
        site.line()
    );
    // SAFETY: as in `note`.
    let known = unsafe { &(*engine()).exploration.outside };
    let is_known = known.iter().any(|known| known.as_bytes() == &*sentence.0);
    if !is_known && let Ok(sentence) = str::from_utf8(sentence.0.leak()) {
        note(sentence);
    }
}

/// Text in the engine's memory, which outlives the execution.
struct Sentence(EngineVec<u8>);

impl Write for Sentence {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Whether a child still runs; `None` if there is no such child.
fn is_running(child: c_int) -> Option<bool> {
    const P_PID: usize = 1;
    const WNOHANG_EXITED_NOWAIT: usize = 0x0100_0005;
    const PID_AT: usize = 3;
    let mut info = [0u32; 32];
    let at = &raw mut info as usize;
    let arguments = [P_PID, child as usize, at, WNOHANG_EXITED_NOWAIT, 0, 0];
    // SAFETY: `info` is as large as the kernel's structure.
    let result = unsafe { sys::syscall(number::WAITID, arguments) };
    (result == 0).then(|| info[PID_AT] == 0)
}

/// A descriptor that becomes readable when the process ends.
pub(crate) fn open_process(process: c_int) -> c_int {
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(number::PIDFD_OPEN, [process as usize, 0, 0, 0, 0, 0]) as c_int }
}

/// What outside the process can make `descriptor` ready for `wanted`, in words;
/// `None` if only this process can. An `epoll` is looked into `depth` deep.
fn source(descriptor: c_int, wanted: i16, depth: u32) -> Option<&'static str> {
    let identity = descriptor::look(descriptor);
    match identity.kind {
        Kind::Closed => None,
        Kind::Pipe => (!has_other_end(descriptor, identity, wanted)).then_some(PIPE),
        Kind::Socket => socket::has_foreign_peer(descriptor).then_some(SOCKET),
        // Those of memory, like /dev/null, are always ready.
        Kind::Device => (identity.device >> 8 != 1).then_some(DEVICE),
        // Handles of processes have been files since Linux 6.9.
        Kind::Anonymous | Kind::File => {
            let path = descriptor::own_path(b"fd/", descriptor);
            let mut name = [0u8; 64];
            let (from, to) = (path.as_ptr() as usize, &raw mut name as usize);
            let arguments = [from, to, name.len(), 0, 0, 0];
            // SAFETY: a path that ends in a zero, and so many writable bytes.
            let length = unsafe { sys::syscall(number::READLINK, arguments) };
            let name = &name[..usize::try_from(length).unwrap_or(0)];
            match name.strip_prefix(b"anon_inode:")? {
                b"[eventpoll]" => watched_source(descriptor, depth),
                b"[eventfd]" | b"[timerfd]" => None,
                b"[pidfd]" => Some(PROCESS),
                b"[signalfd]" => Some(SIGNALS),
                b"inotify" | b"[fanotify]" => Some(FILES),
                _ => Some(STRANGE),
            }
        }
    }
}

/// Whether this process holds the end of a pipe that makes this one ready.
fn has_other_end(descriptor: c_int, identity: Identity, wanted: i16) -> bool {
    const O_ACCMODE: isize = 3;
    const O_RDONLY: isize = 0;
    const O_WRONLY: isize = 1;
    let useless = if wanted & POLLOUT != 0 {
        O_WRONLY
    } else {
        O_RDONLY
    };
    socket::find_open(|other| {
        other != descriptor && {
            let seen = descriptor::look(other);
            seen.kind == Kind::Pipe
                && seen.inode == identity.inode
                && descriptor::flags(other) & O_ACCMODE != useless
        }
    })
}

/// What outside the process can make something ready that an `epoll` watches.
fn watched_source(descriptor: c_int, depth: u32) -> Option<&'static str> {
    if depth == 0 {
        return None;
    }
    let path = descriptor::own_path(b"fdinfo/", descriptor);
    let mut found = None;
    descriptor::for_each_line(&path, |line| {
        if let Some(rest) = line.strip_prefix(b"tfd:")
            && found.is_none()
        {
            let watched = descriptor::parse_number(rest.trim_ascii_start());
            found = watched.and_then(|watched| source(watched, POLLIN, depth - 1));
        }
    });
    found
}
