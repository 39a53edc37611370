//! A task: what it is about to do, what it waits for, and what runs it.

use core::ffi::c_void;

use super::spin::SpinDetector;
use super::{Mode, Op, Site, TaskId, Wake};
use crate::platform::memory::{EngineVec, engine_vec};
use crate::platform::sys::{Destructor, ThreadStart};

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// The lock at this address, to be free for the mode.
    Lock(usize, Mode),
    /// Being woken at this address.
    Object(usize),
    /// The end of a task.
    Task(TaskId),
    /// Its own token.
    Token,
    /// Time alone.
    Time,
    /// A futex wake at this address, with a bit in common.
    Futex(usize, u32),
}

/// Whether a task can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its next operation can run.
    Runnable,
    /// Its next operation cannot run. With a deadline it can go on all the
    /// same: by timing out.
    Blocked(Wait),
    /// It has ended.
    Finished,
}

/// What a task runs.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// A closure of our own `spawn`.
    Rust(unsafe fn(*mut ()), *mut ()),
    /// What `pthread_create` was given.
    C(ThreadStart, *mut c_void),
}

/// One task. Kept and reused between executions, for its vectors' memory.
pub(crate) struct Task {
    pub(crate) entry: Entry,
    pub(crate) donor: usize,
    pub(crate) state: State,
    /// The operation that the task performs next, or is blocked in.
    pub(crate) op: Op,
    pub(crate) object: usize,
    pub(crate) site: Option<Site>,
    /// The wait that its next operation begins with, while the task could run.
    pub(crate) awaits: Option<Wait>,
    /// When a blocked task times out, in virtual nanoseconds.
    pub(crate) deadline: Option<u64>,
    pub(crate) wake: Wake,
    /// The token of `park` and `unpark`.
    pub(crate) token: bool,
    /// Switched out by a preemption, and not run since.
    pub(crate) preempted: bool,
    /// In a call into `atomic` code.
    pub(crate) in_atomic: bool,
    /// A writer in a read-write lock's queue.
    pub(crate) queued: bool,
    pub(crate) spin: SpinDetector,
    /// Hash of its last event's happens-before.
    pub(crate) last_event: u64,
    /// Its closure unwound, and nobody has received the panic.
    pub(crate) unhandled_panic: bool,
    /// Turns that it yielded since the test's body returned.
    pub(crate) idle_turns: u32,
    /// A pthread that was joined or detached; its donor serves again.
    pub(crate) released: bool,
    pub(crate) result: *mut c_void,
    pub(crate) name: EngineVec<u8>,
    /// Destructors of thread-locals, to run last to first.
    pub(crate) destructors: EngineVec<(Destructor, *mut c_void)>,
    /// Its values of pthread keys.
    pub(crate) key_values: EngineVec<*mut c_void>,
}

impl Task {
    /// In place of a donor that serves another task again.
    pub(crate) const NO_DONOR: usize = usize::MAX;

    pub(crate) fn new(entry: Entry, donor: usize) -> Self {
        Self {
            entry,
            donor,
            state: State::Runnable,
            op: Op::Start,
            object: 0,
            site: None,
            awaits: None,
            deadline: None,
            wake: Wake::Notified,
            token: false,
            preempted: false,
            in_atomic: false,
            queued: false,
            spin: SpinDetector::new(),
            last_event: 0,
            unhandled_panic: false,
            idle_turns: 0,
            released: false,
            result: core::ptr::null_mut(),
            name: engine_vec(),
            destructors: engine_vec(),
            key_values: engine_vec(),
        }
    }

    /// Makes the structure serve a new task.
    #[inline]
    pub(crate) fn renew(&mut self, entry: Entry, donor: usize) {
        let mut name = core::mem::replace(&mut self.name, engine_vec());
        let mut destructors = core::mem::replace(&mut self.destructors, engine_vec());
        name.clear();
        let mut key_values = core::mem::replace(&mut self.key_values, engine_vec());
        destructors.clear();
        key_values.clear();
        *self = Self { name, destructors, key_values, ..Self::new(entry, donor) };
    }

    /// Whether the task could go on only by its deadline.
    #[inline]
    pub(crate) fn times_out(&self) -> bool {
        matches!(self.state, State::Blocked(_)) && self.deadline.is_some()
    }
}
