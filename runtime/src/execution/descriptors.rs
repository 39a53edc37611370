//! Calls on descriptors: their scheduling points, waits and events.
//!
//! A task never waits in the kernel. It tries the call without blocking. If the call would block,
//! the task is disabled until a call of another task makes its descriptor ready (CHESS section
//! 3.4). Descriptors that something outside the process makes ready are handled by
//! [`super::outside`].

use core::panic::Location;
use core::sync::atomic::AtomicBool;

use chess_vocabulary::ObjectKind;

use super::schedule::Step;
use super::spin::Access;
use super::state::Execution;
use super::task::{State, Wait};
use super::{Effect, Note, Op, Site, TaskId, Wake, now, perform, running};
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::descriptor::{self, Identity, Kind, PollEntry};
use crate::search::ObjectId;

/// Stands for the lines that calls on descriptors do not have, to recognise a loop that polls.
const NO_LINE: Site = Location::caller();

/// The state of an execution's descriptors.
pub(crate) struct Descriptors {
    /// The number of tasks that wait for a descriptor.
    pub(super) waiting: u32,
    /// Something outside the process may hold the other end of a descriptor.
    pub(super) watchful: bool,
    /// Children for which no task has waited yet.
    pub(crate) children: EngineVec<i32>,
    /// All descriptors for which the tasks wait, in the form for the kernel.
    pub(super) gathered: EngineVec<PollEntry>,
    /// The explorer waits in the kernel for the outside. It is atomic, because the zygote reads it
    /// meanwhile.
    pub(crate) in_kernel: AtomicBool,
    /// The time for which a task that is ready because of the outside waits for the others, in
    /// milliseconds. It is kept from one execution to the next.
    pub(super) grace: u32,
    /// The number of handles of children at the start of `gathered`.
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

/// The first of the addresses that stand for descriptors: no object of a program lies there.
const FIRST: usize = 1 << 63;
const KIND_AT: u32 = 56;
const NUMBERS: u64 = (1 << (KIND_AT - 4)) - 1;
/// Stands for all state of the kernel that descriptors refer to.
const KERNEL: usize = FIRST;

/// The kind of a thing outside the program's memory whose name identifies it in all executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    /// An entry of a directory: a path.
    Entry = 5,
    /// All entries of a directory.
    Directory,
    /// The bytes of a file.
    Contents,
    /// The attributes of a file that `stat` returns.
    Attributes,
    /// An open file: its position.
    Opened,
    /// The lock of a file.
    FileLock,
    /// The current directory, or an unknown place.
    Place,
    /// Environment variables.
    Environment,
}

/// The address that stands in the side table for the thing of this kind with this `name`.
pub(crate) fn named(kind: Named, name: u64) -> usize {
    // The lowest bits distinguish objects that a step uses for the first time.
    let low = (1 << KIND_AT) - 1;
    FIRST | (kind as usize) << KIND_AT | (name as usize & low)
}

/// The address that stands in the side table for the object to which a descriptor refers. It is the
/// same for both ends of a pipe and for duplicates of a socket.
pub(crate) fn descriptor_object(descriptor: i32, identity: Identity) -> usize {
    let (kind, number) = match identity.kind {
        Kind::Pipe => (1, identity.inode),
        Kind::Socket => (2, identity.inode),
        Kind::Device => (3, identity.inode),
        Kind::File | Kind::Anonymous | Kind::Closed => (4, u64::from(descriptor.unsigned_abs())),
    };
    FIRST | kind << KIND_AT | ((number & NUMBERS) << 4) as usize
}

/// The name in reports for the kind of object at `address`, if the address stands for a descriptor
/// or a named thing, and its number, if that is more useful than the order of first use.
pub(crate) fn descriptor_of_object(address: usize) -> Option<(ObjectKind, Option<u32>)> {
    if address < FIRST {
        return None;
    }
    let number = (address & ((1 << KIND_AT) - 1)) >> 4;
    Some(match (address ^ FIRST) >> KIND_AT {
        // The object of a value that is initialised once: the value's address with the highest bit
        // set.
        0 => return None,
        1 => (ObjectKind::Pipe, None),
        2 => (ObjectKind::Socket, None),
        3 => (ObjectKind::Device, None),
        5 | 7 | 8 => (ObjectKind::File, None),
        6 => (ObjectKind::Directory, None),
        9 => (ObjectKind::OpenFile, None),
        10 => (ObjectKind::FileLock, None),
        11 => (ObjectKind::Place, None),
        12 => (ObjectKind::Environment, None),
        _ => (ObjectKind::Descriptor, Some(number as u32)),
    })
}

impl Execution {
    /// The descriptors for which a task waits, and whether only the outside makes them ready.
    fn awaited(&self, task: TaskId) -> Option<(&'static mut [PollEntry], bool)> {
        let (first, count, outside) = match self.task(task).state {
            State::Blocked(Wait::Descriptors(first, count)) => (first, count, false),
            State::Blocked(Wait::Outside(first, count)) => (first, count, true),
            _ => return None,
        };
        // SAFETY: they lie on the stack of the blocked task, or in memory that it passed to `poll`,
        // and only this task uses them when it runs again.
        let entries =
            unsafe { core::slice::from_raw_parts_mut(first as *mut PollEntry, count as usize) };
        Some((entries, outside))
    }

    /// The descriptors for which each task waits.
    pub(super) fn all_awaited(
        &self,
    ) -> impl Iterator<Item = (TaskId, &'static mut [PollEntry], bool)> {
        (0..self.live as u32).map(TaskId).filter_map(|task| {
            let (entries, outside) = self.awaited(task)?;
            Some((task, entries, outside))
        })
    }

    /// Enables the tasks whose descriptors are ready, with or without those that wait for the
    /// outside. Returns whether there was one.
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

    /// Records that the current task made a call on `object`, which changed the state of the kernel
    /// or not.
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

/// A scheduling point before a call on the thing for which `object` stands (0: nothing in
/// particular).
pub(crate) fn before_call(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).object(object);
        perform((*execution).arrive_to_call(op, object));
    }
}

/// Records the event of the call announced by [`before_call`], and enables the tasks that can
/// continue now.
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

/// Enables the tasks that can continue because of the current call's effects so far.
pub(crate) fn descriptors_changed() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe { (*execution).wake_ready(false) };
}

/// Enables all tasks that wait for descriptors, because the deadline of a timer descriptor has
/// changed.
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

/// Blocks the calling task until one of `entries` may be ready, or time passes `deadline`, or time
/// passes `alarm`, at which a timer descriptor becomes ready.
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
            // It continued because of a timer descriptor, which is no timeout.
            task.note = Note::NONE;
        }
    }
}
