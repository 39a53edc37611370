//! A task: what it is about to do, what it waits for, and what runs it.

use core::ffi::c_void;

use super::event::Note;
use super::object::{ObjectId, ObjectTable};
use super::spin::SpinDetector;
use super::trace::TraceStep;
use super::{Mode, Op, Site, TaskId, Wake};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{Destructor, ThreadStart};
use crate::platform::handover::Flow;
use crate::search::Pending;

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// This lock, to be free for the mode.
    Lock(ObjectId, Mode),
    /// Being woken at this object.
    Object(ObjectId),
    /// The end of a task.
    Task(TaskId),
    /// Its own token.
    Token,
    /// A change of something that it read in its turn.
    Change,
    /// Time alone.
    Time,
    /// The end of what it computes: see [`super::endless`].
    Computation,
    /// Nothing: it stays here, and is of no interest any more.
    Nothing,
    /// A futex wake at this address, with a bit in common.
    Futex(usize, u32),
    /// One of so many descriptors to be ready; what is polled lies at the address.
    Descriptors(usize, u32),
    /// The same, and only something outside the process makes them ready.
    Outside(usize, u32),
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Task {
    pub(crate) entry: Entry,
    pub(crate) donor: usize,
    /// The donor's: who runs the task passes control to it, and gets it from there.
    pub(crate) flow: Flow,
    /// The object that stands for the task, once there is one.
    pub(super) own_object: ObjectId,
    /// Another task waits for its end, or has.
    pub(super) is_awaited: bool,
    pub(crate) state: State,
    /// The operation that the task performs next, or is blocked in.
    pub(crate) op: Op,
    pub(crate) object: ObjectId,
    pub(crate) site: Option<Site>,
    /// The wait that its next operation begins with, while the task could run.
    pub(crate) awaits: Option<Wait>,
    /// Its place among the tasks that wait: who began to wait first has the lowest.
    pub(crate) queue: u64,
    /// When a blocked task times out, in virtual nanoseconds.
    pub(crate) deadline: Option<u64>,
    /// When that wait began.
    pub(super) waits_since: u64,
    pub(crate) wake: Wake,
    /// What its next event is to say.
    pub(crate) note: Note,
    /// How often it was unparked since it last went on from `park`: its token.
    pub(crate) unparks: u32,
    /// The step that woke it, if it has not run since.
    pub(crate) waker: u32,
    /// What it waits for is looked at again when it is woken.
    pub(crate) retries: bool,
    /// It waited at this object with a deadline, and has not run since.
    pub(crate) timed: Option<ObjectId>,
    /// It awaits a change of what it read in its turn, or did and has not run since.
    pub(crate) watches: bool,
    /// It has done a fence: all that it writes from then on may release what it did before.
    pub(crate) fenced: bool,
    /// It has called into a package that is compiled as it is.
    pub(super) has_called_opaque: bool,
    /// Switched out by a preemption, and not run since.
    pub(crate) preempted: bool,
    /// A writer in a read-write lock's queue.
    pub(crate) queued: bool,
    pub(crate) spin: SpinDetector,
    /// Hash of its last event's happens-before.
    pub(crate) last_event: u64,
    /// Its closure unwound.
    pub(crate) panicked: bool,
    /// It did, and nobody has received the panic.
    pub(crate) unhandled_panic: bool,
    /// Turns that it yielded since the test's body returned.
    pub(crate) idle_turns: u32,
    /// Random numbers that it drew as choices of the search.
    pub(crate) draws: u32,
    /// A pthread that nobody will join.
    pub(crate) detached: bool,
    /// A pthread that is gone for the program; its donor serves again.
    pub(crate) released: bool,
    pub(crate) result: *mut c_void,
    /// Its main function has returned, and somebody may ask for that.
    pub(crate) has_finished: bool,
    /// The scope that waits for its end, once it has left that.
    pub(crate) scope: ObjectId,
    pub(crate) name: EngineVec<u8>,
    /// Destructors of thread-locals, to run last to first.
    pub(crate) destructors: EngineVec<(Destructor, *mut c_void)>,
    /// Its values of pthread keys.
    pub(crate) key_values: EngineVec<*mut c_void>,
}

impl Task {
    /// What the task does next.
    pub(crate) fn pending(&self, objects: &ObjectTable) -> Pending {
        let object = match self.object {
            ObjectId::NONE => 0,
            object => objects.get(object).address,
        };
        Pending {
            op: self.op,
            object,
        }
    }

    /// In place of a donor that serves another task again.
    pub(crate) const NO_DONOR: usize = usize::MAX;

    pub(crate) fn new(entry: Entry, donor: usize, flow: Flow) -> Self {
        Self {
            entry,
            donor,
            flow,
            own_object: ObjectId::NONE,
            is_awaited: false,
            state: State::Runnable,
            op: Op::Start,
            object: ObjectId::NONE,
            site: None,
            awaits: None,
            queue: 0,
            deadline: None,
            waits_since: 0,
            wake: Wake::Notified,
            note: Note::NONE,
            unparks: 0,
            waker: TraceStep::NONE,
            retries: false,
            timed: None,
            watches: false,
            fenced: false,
            has_called_opaque: false,
            preempted: false,
            queued: false,
            spin: SpinDetector::new(),
            last_event: 0,
            panicked: false,
            unhandled_panic: false,
            idle_turns: 0,
            draws: 0,
            detached: false,
            released: false,
            result: core::ptr::null_mut(),
            has_finished: false,
            scope: ObjectId::NONE,
            name: engine_vec(),
            destructors: engine_vec(),
            key_values: engine_vec(),
        }
    }

    /// Makes the structure serve a new task. Field by field: most of it is
    /// memory that is kept.
    #[inline]
    pub(crate) fn renew(&mut self, entry: Entry, donor: usize, flow: Flow) {
        self.entry = entry;
        self.donor = donor;
        self.flow = flow;
        self.own_object = ObjectId::NONE;
        self.is_awaited = false;
        self.state = State::Runnable;
        self.op = Op::Start;
        self.object = ObjectId::NONE;
        self.site = None;
        self.awaits = None;
        self.deadline = None;
        self.wake = Wake::Notified;
        self.note = Note::NONE;
        self.unparks = 0;
        self.waker = TraceStep::NONE;
        self.retries = false;
        self.timed = None;
        self.watches = false;
        self.fenced = false;
        self.has_called_opaque = false;
        self.preempted = false;
        self.queued = false;
        self.spin.progress();
        self.panicked = false;
        self.unhandled_panic = false;
        self.idle_turns = 0;
        self.draws = 0;
        self.detached = false;
        self.released = false;
        self.result = core::ptr::null_mut();
        self.has_finished = false;
        self.scope = ObjectId::NONE;
        self.name.clear();
        self.destructors.clear();
        self.key_values.clear();
    }
}
