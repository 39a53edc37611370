//! The state of an execution's descriptors, and the addresses that stand for the objects to which
//! they refer.

use core::sync::atomic::{AtomicBool, Ordering};

use chess_vocabulary::{ObjectKind, Op, TaskId};

use super::arrived_signals::Arrivals;
use super::children::Children;
use crate::base::address_table::AddressTable;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys;
use crate::platform::descriptor::{Identity, Kind, PollEntry};
use crate::search::ObjectId;

/// The initial value of [`Descriptors::grace`].
pub(super) const GRACE: u32 = 1_000;

/// The state of an execution's descriptors.
pub(crate) struct Descriptors {
    /// The number of tasks that wait for a descriptor.
    pub(super) waiting: u32,
    /// Something outside the process may hold the other end of a descriptor.
    pub(super) watchful: bool,
    /// Children for which no task has waited yet.
    pub(crate) children: Children,
    /// Signals from outside the process.
    pub(super) arrivals: Arrivals,
    /// The number of system calls of this execution that are events.
    pub(crate) calls: u32,
    /// The number of processes that the execution has started.
    pub(crate) processes: u32,
    /// The argument of the next wait in the kernel: the handles of children, and the descriptors of
    /// waiting tasks that something outside the process may make ready.
    pub(super) gathered: EngineVec<PollEntry>,
    /// Whether the explorer waits in the kernel for events outside the process. The flag is
    /// atomic, because the zygote reads it during the wait.
    pub(crate) in_kernel: AtomicBool,
    /// The real time, in nanoseconds, for which the explorer has waited in the kernel in this
    /// execution.
    pub(crate) waited: u64,
    /// The grace period in milliseconds. Once something outside the process has made a task ready,
    /// the engine gives the other tasks that wait for such events this time to become ready, too.
    /// The search then chooses the order in which they continue. The value is kept from one
    /// execution to the next.
    pub(super) grace: u32,
    /// The number of handles of children at the start of `gathered`.
    pub(super) handles: usize,
    takings: EngineVec<Taking>,
    /// For the inode number of each pipe and each socket: an index in `names`.
    inodes: AddressTable,
    /// The names of pipes and sockets, which are the same in all executions. The numbers of their
    /// inodes differ.
    names: EngineVec<u64>,
    /// The number of names that each task has assigned.
    counts: EngineVec<u64>,
    /// The descriptors that were closed or replaced.
    ended: EngineVec<Ended>,
}

/// A descriptor that was closed or replaced.
struct Ended {
    descriptor: i32,
    /// The object that the last such call wrote.
    object: usize,
    /// Whether this call made the descriptor refer to another file.
    is_replaced: bool,
}

/// The calls of one kind that took something from an object: input, room for output, or a
/// connection.
struct Taking {
    op: Op,
    object: ObjectId,
    /// The task that made all these calls; `None` if several tasks made them.
    task: Option<TaskId>,
}

/// Whether a call of this kind takes input, room for output, or a connection from its object.
fn takes(op: Op) -> bool {
    matches!(op, Op::DescriptorRead | Op::DescriptorWrite | Op::Accept)
}

impl Descriptors {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: 0,
            watchful: false,
            children: Children::new(),
            arrivals: Arrivals::new(),
            calls: 0,
            processes: 0,
            gathered: engine_vec(),
            in_kernel: AtomicBool::new(false),
            waited: 0,
            grace: GRACE,
            handles: 0,
            takings: engine_vec(),
            inodes: AddressTable::new(),
            names: engine_vec(),
            counts: engine_vec(),
            ended: engine_vec(),
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.waiting = 0;
        self.watchful = false;
        self.children.clear();
        self.calls = 0;
        self.processes = 0;
        self.waited = 0;
        self.takings.clear();
        self.inodes.clear();
        self.names.clear();
        self.counts.clear();
        self.ended.clear();
    }

    /// Calls `wait`, in which the explorer waits for events outside the process.
    pub(super) fn wait_in_kernel<T>(&mut self, wait: impl FnOnce(&mut Self) -> T) -> T {
        self.in_kernel.store(true, Ordering::Relaxed);
        let begin = sys::monotonic_time();
        let result = wait(self);
        self.waited += sys::monotonic_time().saturating_sub(begin);
        self.in_kernel.store(false, Ordering::Relaxed);
        result
    }

    /// Records that a call ends the state of `descriptor`, and writes `object`. If `is_replaced`,
    /// the call also makes `descriptor` refer to another file.
    pub(super) fn end(&mut self, descriptor: i32, object: usize, is_replaced: bool) {
        let ended = Ended {
            descriptor,
            object,
            is_replaced,
        };
        let mut known = self.ended.iter_mut();
        match known.find(|known| known.descriptor == descriptor) {
            Some(known) => *known = ended,
            None => self.ended.push(ended),
        }
    }

    /// See [`super::ended_descriptor`].
    pub(super) fn ended(&self, descriptor: i32, is_closed: bool) -> Option<usize> {
        let mut known = self.ended.iter();
        let ended = known.find(|known| known.descriptor == descriptor)?;
        (is_closed || ended.is_replaced).then_some(ended.object)
    }

    /// The address that stands for the object to which `descriptor` refers
    /// ([`super::descriptor_object`]).
    pub(super) fn object(&mut self, task: TaskId, descriptor: i32, identity: Identity) -> usize {
        let (kind, number) = match identity.kind {
            Kind::Pipe => (1, self.name(task, identity)),
            Kind::Socket => (2, self.name(task, identity)),
            Kind::Device => (3, identity.inode),
            Kind::File | Kind::Anonymous | Kind::Closed => {
                (4, u64::from(descriptor.unsigned_abs()))
            }
        };
        FIRST | kind << KIND_AT | ((number & NUMBERS) << 4) as usize
    }

    /// Returns the name of a pipe or of a socket. A new one is named after `task`, which has
    /// created it, or is the first to use it if the creation was not seen.
    fn name(&mut self, task: TaskId, identity: Identity) -> u64 {
        let next = self.names.len();
        let key = identity.inode as usize ^ (identity.kind as usize) << KIND_AT;
        let place = self.inodes.at(key, next as u32) as usize;
        if place == next {
            let task = task.0 as usize;
            if self.counts.len() <= task {
                self.counts.resize(task + 1, 0);
            }
            self.counts[task] += 1;
            self.names.push(mix(task as u64, self.counts[task]));
        }
        self.names[place]
    }

    /// Records a successful call of `task`.
    pub(super) fn note_call(&mut self, task: TaskId, op: Op, object: ObjectId) {
        if !takes(op) {
            return;
        }
        let mut takings = self.takings.iter_mut().rev();
        match takings.find(|it| it.op == op && it.object == object) {
            Some(taking) => taking.task = taking.task.filter(|&by| by == task),
            None => self.takings.push(Taking {
                op,
                object,
                task: Some(task),
            }),
        }
    }

    /// Whether a task other than `task` may have taken the input, the room for output or the
    /// connection that `op` waits for. If `op` is a read, a write or an accept, only earlier calls
    /// with the same `op` on `object` are considered. Any other `op` may wait for several
    /// descriptors, so all recorded calls are considered.
    pub(super) fn others_took(&self, task: TaskId, op: Op, object: ObjectId) -> bool {
        let concerns = |it: &&Taking| !takes(op) || it.op == op && it.object == object;
        let mut takings = self.takings.iter().filter(concerns);
        takings.any(|taking| taking.task != Some(task))
    }
}

/// The first of the addresses that stand for descriptors: no object of a program lies there.
const FIRST: usize = 1 << 63;
const KIND_AT: u32 = 56;
const NUMBERS: u64 = (1 << (KIND_AT - 4)) - 1;
/// Stands for all state of the kernel that descriptors refer to.
pub(super) const KERNEL: usize = FIRST;

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
    /// A component that may crash.
    Component,
    /// An attribute of the process.
    Process,
    /// The clock.
    Clock,
}

/// The address that stands in the side table for the thing of this kind with this `name`.
pub(crate) fn named(kind: Named, name: u64) -> usize {
    // The lowest bits are kept: they distinguish the objects that one step uses for the first
    // time.
    let low = (1 << KIND_AT) - 1;
    FIRST | (kind as usize) << KIND_AT | (name as usize & low)
}

/// The distance between the addresses of a descriptor's object and of the state of this object.
const STATE: usize = 1 << (KIND_AT + 5);
/// The distance between the addresses of a socket's object and of the socket's own address.
const ADDRESS: usize = 1 << (KIND_AT + 6);

/// The address that stands for the state of the object at address `object`: the flags of its
/// descriptors and the options of its socket, and whether they are open. `object` is a
/// [`super::descriptor_object`].
pub(crate) fn state_of(object: usize) -> usize {
    object | STATE
}

/// The address that stands for the addresses of a socket and its peer. `object` is the
/// [`super::descriptor_object`] of the socket.
pub(crate) fn address_of(object: usize) -> usize {
    object | ADDRESS
}

/// Whether the address is the same in all executions: that of a [`super::descriptor_object`], of
/// its state, or of a named thing.
#[inline]
pub(super) fn has_fixed_name(address: usize) -> bool {
    address == KERNEL || address >= FIRST && (address ^ FIRST) >> KIND_AT != 0
}

/// Whether the address is a [`super::descriptor_object`].
pub(super) fn is_descriptor(address: usize) -> bool {
    address >= FIRST && matches!((address ^ FIRST) >> KIND_AT, 1..=4)
}

/// The kind of the object at `address`, and its number for reports, if that is more useful than
/// the order of first use. `None` if the address stands neither for a descriptor nor for a named
/// thing.
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
        13 => (ObjectKind::Component, None),
        14 => (ObjectKind::ProcessAttribute, None),
        15 => (ObjectKind::Clock, None),
        _ => (ObjectKind::Descriptor, Some(number as u32)),
    })
}
