//! A task: its next operation, its wait, and its flow of control.

use core::ffi::c_void;

use super::component_set::ComponentId;
use super::object::ObjectTable;
use super::spin::SpinDetector;
use super::terms::{Mode, Site, Wake};
use super::{Note, Op, TaskId};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{Destructor, ThreadStart};
use crate::platform::handover::Flow;
use crate::search::{ObjectId, Pending, TraceStep};

/// The reason why a task is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// It needs this lock to be free for the mode.
    Lock(ObjectId, Mode),
    /// It waits to be woken at this object.
    Object(ObjectId),
    /// The end of another task.
    Task(TaskId),
    /// Its own token, in `park`.
    Token,
    /// A change of an object that it read in its iteration.
    Change,
    /// A deadline alone.
    Time,
    /// The end of its computation: see [`super::endless`].
    Computation,
    /// Nothing: it never continues, and no report mentions it.
    Nothing,
    /// Nothing, because an assumption of the test does not hold.
    Assumption,
    /// Until no other task can run: see [`super::idle`].
    Idle,
    /// A futex wake at this address, with a bit in common.
    Futex(usize, u32),
    /// Until one of several descriptors is ready: the address of their `PollEntry`s, and their
    /// number.
    Descriptors(usize, u32),
    /// The same, but only something outside the process makes them ready.
    Outside(usize, u32),
}

/// Whether a task can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its next operation can run.
    Runnable,
    /// Its next operation cannot run. With a deadline the task can still run, by timing out.
    Blocked(Wait),
    /// It has ended.
    Finished,
}

/// The function that a task runs.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// A closure of our own `spawn`.
    Rust(unsafe fn(*mut ()), *mut ()),
    /// The function and the argument that `pthread_create` was given.
    C(ThreadStart, *mut c_void),
}

/// One task. The structure is kept and reused between executions, for the memory of its vectors.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Task {
    pub(crate) entry: Entry,
    pub(crate) donor: usize,
    /// The flow of the donor: control passes to and from the task through it.
    pub(crate) flow: Flow,
    /// Its stack pointer when it was last suspended; 0 before that. See [`super::dead_frames`].
    pub(super) suspended_at: usize,
    /// The object that stands for the task, once it exists.
    pub(super) own_object: ObjectId,
    /// Whether another task waits or has waited for its end.
    pub(super) is_awaited: bool,
    pub(crate) state: State,
    /// The operation that the task performs next, or is blocked in.
    pub(crate) op: Op,
    pub(crate) object: ObjectId,
    pub(crate) site: Option<Site>,
    /// If the next operation acquires a lock: the wait in which the task blocks if the lock is not
    /// free.
    pub(crate) awaits: Option<Wait>,
    /// Its place among the waiting tasks: the task that has waited longest has the lowest.
    pub(crate) queue: u64,
    /// The deadline of a blocked task, in virtual nanoseconds.
    pub(crate) deadline: Option<u64>,
    /// The start of that wait.
    pub(super) waits_since: u64,
    pub(crate) wake: Wake,
    /// The note of its next event.
    pub(crate) note: Note,
    /// The version of its object that its next event reads, if that is not the newest.
    pub(crate) reads_version: Option<u32>,
    /// The number of unparks since it last returned from `park`: its token.
    pub(crate) unparks: u32,
    /// The step that woke it, if it has not run since.
    pub(crate) waker: u32,
    /// After the task is woken, its operation checks its condition again.
    pub(crate) retries: bool,
    /// It waited at this object with a deadline, and has not run since.
    pub(crate) timed: Option<ObjectId>,
    /// It awaits a change of the objects that it read in its iteration, or did and has not run
    /// since.
    pub(crate) watches: bool,
    /// It has performed a fence: each later write may release its earlier operations.
    pub(crate) fenced: bool,
    /// It has called into a package that is compiled unchanged.
    pub(super) has_called_opaque: bool,
    /// It was switched out by a preemption, and has not run since.
    pub(crate) preempted: bool,
    /// It is a writer in a read-write lock's queue.
    pub(crate) queued: bool,
    pub(crate) spin: SpinDetector,
    /// Hash of the happens-before of its last event.
    pub(crate) last_event: u64,
    /// Its closure unwound.
    pub(crate) panicked: bool,
    /// Its closure unwound, and no task has received the panic.
    pub(crate) unhandled_panic: bool,
    /// The number of times that it has yielded since the test's body returned.
    pub(crate) idle_yields: u32,
    /// The number of its random draws and of the choices that it left to the search.
    pub(crate) draws: u32,
    /// The component that it belongs to, which may crash.
    pub(super) component: Option<ComponentId>,
    /// The number of components that it has run.
    pub(super) components: u32,
    /// Its last call that could be interrupted was interrupted by the search's choice.
    pub(super) was_interrupted: bool,
    /// It is a pthread that no task will join.
    pub(crate) detached: bool,
    /// The program has no valid pthread handle of this task. Once the task has ended, a new task may
    /// use its donor, the pthread that lends it a stack and a thread-local block.
    pub(crate) released: bool,
    pub(crate) result: *mut c_void,
    /// Its main function has returned. Set only if the program may check that.
    pub(crate) has_finished: bool,
    /// The scope that waits for its end, after the task has left it.
    pub(crate) scope: ObjectId,
    pub(crate) name: EngineVec<u8>,
    /// Destructors of thread-locals, to run from last to first.
    pub(crate) destructors: EngineVec<(Destructor, *mut c_void)>,
    /// Its values of pthread keys.
    pub(crate) key_values: EngineVec<*mut c_void>,
}

impl Task {
    /// The task's next operation.
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

    /// The value of `donor` for an ended task whose donor now serves another task.
    pub(crate) const NO_DONOR: usize = usize::MAX;

    pub(crate) fn new(entry: Entry, donor: usize, flow: Flow) -> Self {
        Self {
            entry,
            donor,
            flow,
            suspended_at: 0,
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
            reads_version: None,
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
            idle_yields: 0,
            draws: 0,
            component: None,
            components: 0,
            was_interrupted: false,
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

    /// Makes the structure serve a new task. The fields are set one by one, because most of the
    /// structure is memory that is kept.
    #[inline]
    pub(crate) fn renew(&mut self, entry: Entry, donor: usize, flow: Flow) {
        self.entry = entry;
        self.donor = donor;
        self.flow = flow;
        self.suspended_at = 0;
        self.own_object = ObjectId::NONE;
        self.is_awaited = false;
        self.state = State::Runnable;
        self.op = Op::Start;
        self.object = ObjectId::NONE;
        self.site = None;
        self.awaits = None;
        self.deadline = None;
        self.waits_since = 0;
        self.wake = Wake::Notified;
        self.note = Note::NONE;
        self.reads_version = None;
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
        self.last_event = 0;
        self.panicked = false;
        self.unhandled_panic = false;
        self.idle_yields = 0;
        self.draws = 0;
        self.component = None;
        self.components = 0;
        self.was_interrupted = false;
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

/// The name of a task for people.
pub(crate) fn called(task: TaskId) -> String {
    task.to_string()
}

/// The address that stands for a task in the side table; no object lies there.
#[inline]
pub(crate) fn thread_object(task: TaskId) -> usize {
    (1 << 12) + ((task.0 as usize) << 4)
}

/// The address that stands for the token of a task's `park`. It is separate from [`thread_object`],
/// because the start and the end of the task do not depend on the token.
pub(crate) fn token_object(task: TaskId) -> usize {
    thread_object(task) + 8
}

/// The address that stands for the end of a task's main function.
pub(super) fn finish_object(task: TaskId) -> usize {
    thread_object(task) + 4
}

/// The address that stands for the signals that a task waits for.
pub(super) fn signals_object(task: TaskId) -> usize {
    thread_object(task) + 12
}

/// The task that an address of the side table stands for.
pub(crate) fn task_of_object(address: usize) -> Option<TaskId> {
    const END: usize = 1 << 36;
    (1 << 12..END)
        .contains(&address)
        .then(|| TaskId(((address - (1 << 12)) >> 4) as u32))
}
