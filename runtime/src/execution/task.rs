//! A task: its next operation, its wait, and its flow of control.

use core::ffi::c_void;

use super::component_set::ComponentId;
use super::object::ObjectTable;
use super::spin::SpinDetector;
use super::terms::{Mode, Site, Wake};
use super::{Note, Op, TaskId};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{Destructor, ThreadStart, stack_t};
use crate::platform::handover::Flow;
use crate::search::{ObjectId, Pending, TraceStep};

/// The reason why a task is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// The task needs this lock to be free for the mode.
    Lock(ObjectId, Mode),
    /// The task waits until another task wakes it at this object.
    Object(ObjectId),
    /// The task waits for the end of this other task.
    Task(TaskId),
    /// The task waits in `park` for its token, which `unpark` gives it.
    Token,
    /// The task awaits a change of an object that it read in its iteration: see
    /// [`super::waiting_loops`].
    Change,
    /// The task waits for its deadline alone.
    Time,
    /// The task is set aside, because it computes without end: see [`super::endless_computation`].
    Computation,
    /// The task never continues, and no report mentions its wait.
    Nothing,
    /// The task never continues, because an assumption of the test does not hold.
    Assumption,
    /// The task waits until no other task can run: see [`super::idle`].
    Idle,
    /// The task waits for a futex wake at this address. The mask of the wake must have a bit in
    /// common with this mask.
    Futex(usize, u32),
    /// The task waits until one of several descriptors is ready. The values are the address of
    /// their `PollEntry`s, and their number.
    Descriptors(usize, u32),
    /// As `Descriptors`, for descriptors that only something outside the process makes ready.
    Outside(usize, u32),
}

/// Whether a task can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The next operation of the task can run.
    Runnable,
    /// The next operation of the task cannot run. A task with a deadline can still run, by timing
    /// out.
    Blocked(Wait),
    /// The task has ended.
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
    /// The flow of the donor (the thread that lends the task its stack). Control passes to and from
    /// the task through this flow.
    pub(crate) flow: Flow,
    /// The stack pointer of the task when it was last suspended; 0 if it never was. See
    /// [`super::dead_frames`].
    pub(super) suspended_at: usize,
    /// The object that stands for the task, once it exists.
    pub(super) own_object: ObjectId,
    /// Whether another task waits or has waited for the end of this task.
    pub(super) is_awaited: bool,
    pub(crate) state: State,
    /// The operation that the task performs next, or is blocked in.
    pub(crate) op: Op,
    pub(crate) object: ObjectId,
    pub(crate) site: Option<Site>,
    /// If the next operation acquires a lock: the wait in which the task blocks if the lock is not
    /// free.
    pub(crate) awaits: Option<Wait>,
    /// The place of the task among the waiting tasks. The task that has waited longest has the
    /// lowest number.
    pub(crate) queue: u64,
    /// The deadline of a blocked task, in virtual nanoseconds.
    pub(crate) deadline: Option<u64>,
    /// The start of the task's wait with a deadline, in virtual nanoseconds.
    pub(super) waits_since: u64,
    pub(crate) wake: Wake,
    /// The note of the task's next event.
    pub(crate) note: Note,
    /// The version of the object that the task's next event reads, if this is not the newest
    /// version.
    pub(crate) reads_version: Option<u32>,
    /// The number of unparks of the task since it last returned from `park`. If this is not 0, the
    /// task has its token.
    pub(crate) unparks: u32,
    /// Whether the task has waited in std's code, which parks the thread: see `park_token.rs`.
    pub(super) has_parked_inside: bool,
    /// The step that woke the task, if the task has not run since.
    pub(crate) waker: u32,
    /// After a wake-up, the operation of the task checks again whether it can complete.
    pub(crate) retries: bool,
    /// The object at which the task waited with a deadline, if the task was woken and has not run
    /// since. [`ObjectId::NONE`] for a wait without an object.
    pub(crate) timed: Option<ObjectId>,
    /// The task awaits a change of an object that it read in its iteration, or has awaited one and
    /// has not run since.
    pub(crate) watches: bool,
    /// The task has performed a fence. So each later write of the task may release its earlier
    /// operations.
    pub(crate) fenced: bool,
    /// The number of the task's reads of the clock before which another task could run. See
    /// [`super::clock_read`].
    pub(super) clock_reads: u32,
    /// The number of the task's other reads of the clock.
    pub(super) lone_clock_reads: u32,
    /// The task has called into a package that is compiled unchanged.
    pub(super) has_called_opaque: bool,
    /// The task was switched out by a preemption, and has recorded no event since.
    pub(crate) preempted: bool,
    /// The task is a writer in the queue of a read-write lock.
    pub(crate) queued: bool,
    pub(crate) spin: SpinDetector,
    /// Hash of the happens-before of its last event.
    pub(crate) last_event: u64,
    /// The closure of the task unwound.
    pub(crate) panicked: bool,
    /// The closure of the task unwound, and no task has received the panic.
    pub(crate) unhandled_panic: bool,
    /// The number of yields and timed waits of the task after the end of the test's body. A wake-up
    /// of the task sets the number to 0.
    pub(crate) idle_yields: u32,
    /// The number of random draws of the task, and of the choices that the test left to the search
    /// in it.
    pub(crate) draws: u32,
    /// The component (which may crash) that the task belongs to.
    pub(super) component: Option<ComponentId>,
    /// The number of components that the task has started.
    pub(super) components: u32,
    /// The search let the task's last call that could be interrupted fail with an interruption.
    pub(super) was_interrupted: bool,
    /// The task is a pthread that no task will join.
    pub(crate) detached: bool,
    /// The program has no valid pthread handle of this task. Once the task has ended, a new task
    /// may use its donor, the pthread that lends it a stack and a thread-local block.
    pub(crate) released: bool,
    pub(crate) result: *mut c_void,
    /// The main function of the task has returned. Set only if the program may check that.
    pub(crate) has_finished: bool,
    /// The scope that waits for the end of the task. Set when the task leaves the scope.
    pub(crate) scope: ObjectId,
    pub(crate) name: EngineVec<u8>,
    /// The alternate stack for signals that the task has set.
    pub(crate) alternate_stack: Option<stack_t>,
    /// Destructors of thread-locals, to run from last to first.
    pub(crate) destructors: EngineVec<(Destructor, *mut c_void)>,
    /// The task's values of pthread keys.
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
            has_parked_inside: false,
            waker: TraceStep::NONE,
            retries: false,
            timed: None,
            watches: false,
            fenced: false,
            has_called_opaque: false,
            clock_reads: 0,
            lone_clock_reads: 0,
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
            alternate_stack: None,
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
        self.has_parked_inside = false;
        self.waker = TraceStep::NONE;
        self.retries = false;
        self.timed = None;
        self.watches = false;
        self.fenced = false;
        self.has_called_opaque = false;
        (self.clock_reads, self.lone_clock_reads) = (0, 0);
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
        self.alternate_stack = None;
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

/// The address that stands for the token of a task's `park`. The token has an address of its own,
/// because the start and the end of the task ([`thread_object`]) do not depend on it.
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
