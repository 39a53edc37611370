//! Calls on descriptors: their scheduling points, waits and events.
//!
//! A task never waits in the kernel. It tries without blocking; if that leads
//! nowhere it is disabled until a call of another task makes its descriptor
//! ready (CHESS section 3.4). What the outside of the process makes ready is the
//! affair of [`super::outside`].

use core::panic::Location;
use core::sync::atomic::AtomicBool;

use super::event::Note;
use super::object::ObjectId;
use super::schedule::Step;
use super::spin::Access;
use super::state::Execution;
use super::task::{State, Wait};
use super::{Effect, Op, Site, TaskId, Wake, now, perform, running};
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::descriptor::{self, Identity, Kind, PollEntry};

/// In place of the lines that calls on descriptors do not have: for recognising
/// a loop that asks again and again.
const NO_LINE: Site = Location::caller();

/// What an execution's descriptors are about.
pub(crate) struct Descriptors {
    /// Tasks that wait for one.
    pub(super) waiting: u32,
    /// Something beside this process may hold the other end of a descriptor.
    pub(super) watchful: bool,
    /// Children that nobody has waited for yet.
    pub(crate) children: EngineVec<i32>,
    /// All that the tasks wait for, for the kernel.
    pub(super) gathered: EngineVec<PollEntry>,
    /// The explorer waits in the kernel for the outside. Atomic, for the zygote
    /// reads it meanwhile.
    pub(crate) in_kernel: AtomicBool,
    /// How long one who is answered by the outside waits for the others, in
    /// milliseconds. Kept from one execution to the next.
    pub(super) grace: u32,
    /// So many of them are handles of children.
    pub(super) handles: usize,
}

impl Descriptors {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: 0,
            watchful: false,
            children: engine_vec(),
            gathered: engine_vec(),
            in_kernel: AtomicBool::new(false),
            grace: super::outside::GRACE,
            handles: 0,
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.waiting = 0;
        self.watchful = false;
        self.children.clear();
    }
}

/// Where addresses that stand for descriptors begin: no object of a program lies there.
const FIRST: usize = 1 << 63;
const KIND_AT: u32 = 56;
const NUMBERS: u64 = (1 << (KIND_AT - 4)) - 1;
/// Stands for all that the kernel keeps behind descriptors.
const KERNEL: usize = FIRST;

/// What a name stands for, of things outside the program's memory that are named by what
/// they are, in all executions alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    /// An entry of a directory: a path.
    Entry = 5,
    /// All entries of a directory.
    Directory,
    /// The bytes of a file.
    Contents,
    /// What `stat` says of a file besides.
    Attributes,
    /// An open file: its position.
    Opened,
    /// The lock of a file.
    FileLock,
    /// The current directory, or a place that is not known.
    Place,
    /// Environment variables.
    Environment,
}

/// The address that stands in the side table for something that has a `name` of its own.
pub(crate) fn named(kind: Named, name: u64) -> usize {
    // The lowest bits tell objects apart that a step uses first.
    let low = (1 << KIND_AT) - 1;
    FIRST | (kind as usize) << KIND_AT | (name as usize & low)
}

/// The address that stands in the side table for what is behind a descriptor:
/// the same for both ends of a pipe and for duplicates of a socket.
pub(crate) fn descriptor_object(descriptor: i32, identity: Identity) -> usize {
    let (kind, number) = match identity.kind {
        Kind::Pipe => (1, identity.inode),
        Kind::Socket => (2, identity.inode),
        Kind::Device => (3, identity.inode),
        Kind::File | Kind::Anonymous | Kind::Closed => (4, u64::from(descriptor.unsigned_abs())),
    };
    FIRST | kind << KIND_AT | ((number & NUMBERS) << 4) as usize
}

/// What reports call the kind of what `address` stands for, if it is a
/// descriptor's; and its number, if that says more than the order of first use.
pub(crate) fn descriptor_of_object(address: usize) -> Option<(&'static str, Option<usize>)> {
    if address < FIRST {
        return None;
    }
    let number = (address & ((1 << KIND_AT) - 1)) >> 4;
    Some(match (address ^ FIRST) >> KIND_AT {
        // What is initialised once, beside what lies at its address.
        0 => return None,
        1 => ("pipe ", None),
        2 => ("socket ", None),
        3 => ("device ", None),
        5 | 7 | 8 => ("file ", None),
        6 => ("directory ", None),
        9 => ("open file ", None),
        10 => ("file lock ", None),
        11 => ("place ", None),
        12 => ("environment ", None),
        _ => ("descriptor ", Some(number)),
    })
}

impl Execution {
    /// What a task waits to be ready, and whether only the outside makes it so.
    fn awaited(&self, task: TaskId) -> Option<(&'static mut [PollEntry], bool)> {
        let (first, count, outside) = match self.task(task).state {
            State::Blocked(Wait::Descriptors(first, count)) => (first, count, false),
            State::Blocked(Wait::Outside(first, count)) => (first, count, true),
            _ => return None,
        };
        // SAFETY: they lie on the stack of the blocked task, or in memory that it
        // passed to `poll`, and it alone uses them when it runs again.
        let entries =
            unsafe { core::slice::from_raw_parts_mut(first as *mut PollEntry, count as usize) };
        Some((entries, outside))
    }

    /// What each task waits to be ready.
    pub(super) fn all_awaited(
        &self,
    ) -> impl Iterator<Item = (TaskId, &'static mut [PollEntry], bool)> {
        (0..self.live as u32).map(TaskId).filter_map(|task| {
            let (entries, outside) = self.awaited(task)?;
            Some((task, entries, outside))
        })
    }

    /// Enables the tasks whose descriptors are ready, with or without those that
    /// wait for the outside; whether there was one.
    pub(super) fn wake_ready(&mut self, outside_too: bool) -> bool {
        if self.descriptors.waiting == 0 {
            return false;
        }
        let mut any = false;
        for task in (0..self.live as u32).map(TaskId) {
            if let Some((entries, outside)) = self.awaited(task)
                && (!outside || outside_too)
                && descriptor::poll_now(entries) != 0
            {
                self.wake(task, Wake::Notified);
                any = true;
            }
        }
        any
    }

    /// The current task made a call on `object`, which left the kernel as it was or not.
    fn record_call(&mut self, op: Op, object: ObjectId, effect: Effect) {
        let kernel = self.object(KERNEL);
        let version = self.objects.get(kernel).version;
        if effect == Effect::Read && self.running().note == Note::NONE {
            let access = Access::new(op, NO_LINE, object);
            self.running().spin.read(access, version);
        } else {
            self.running().spin.progress();
        }
        self.log_event(op, object, effect, None);
        self.touch(kernel, effect);
    }

    /// The current task arrives before a call on `object`.
    fn arrive_to_call(&mut self, op: Op, object: ObjectId) -> Step {
        let kernel = self.object(KERNEL);
        let version = self.objects.get(kernel).version;
        let spin = &self.running().spin;
        if spin.is_watching() && spin.spins(Access::new(op, NO_LINE, object), version) {
            self.announce(op, object, None);
            return self.yield_step(0);
        }
        self.arrive(op, object, None)
    }
}

/// A scheduling point before a call on what `object` stands for (0: nothing in particular).
pub(crate) fn before_call(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).object(object);
        perform((*execution).arrive_to_call(op, object));
    }
}

/// The event of the call announced by [`before_call`]; those that now can go on are enabled.
pub(crate) fn after_call(op: Op, object: usize, effect: Effect) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let object = (*execution).object(object);
        (*execution).record_call(op, object, effect);
        if effect == Effect::Write {
            (*execution).wake_ready(false);
        }
    }
}

/// Enables those that can go on by what the current call did so far.
pub(crate) fn descriptors_changed() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe { (*execution).wake_ready(false) };
}

/// Enables all that wait for descriptors: what they wait for has changed.
pub(crate) fn wake_all_awaiting() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        for task in (0..(*execution).live as u32).map(TaskId) {
            if matches!(
                (*execution).task(task).state,
                State::Blocked(Wait::Descriptors(..))
            ) {
                (*execution).wake(task, Wake::Notified);
            }
        }
    }
}

/// Blocks the calling task until one of `entries` may be ready, or time passes
/// `deadline`, or `alarm`, when a timer descriptor becomes ready.
pub(crate) fn await_descriptors(
    op: Op,
    object: usize,
    entries: &mut [PollEntry],
    deadline: Option<u64>,
    alarm: Option<u64>,
    outside: bool,
) {
    let Some(execution) = running() else { return };
    let (first, count) = (entries.as_mut_ptr() as usize, entries.len() as u32);
    let until = deadline.into_iter().chain(alarm).min();
    // SAFETY: see `running`; no reference into the engine lives across `perform`,
    // and `entries` stay where they are meanwhile.
    unsafe {
        let object = (*execution).object(object);
        let task = (*execution).running();
        task.op = op;
        task.object = object;
        task.site = None;
        if outside {
            let wait = Wait::Outside(first, count);
            perform((*execution).sleep_uncounted(wait, until));
        } else {
            let wait = Wait::Descriptors(first, count);
            perform((*execution).sleep_on(wait, until));
        }
        let task = (*execution).running();
        if task.wake == Wake::TimedOut && deadline.is_none_or(|deadline| deadline > now()) {
            // It went on for a timer's sake: that is no timeout.
            task.note = Note::NONE;
        }
    }
}
