//! The state of one execution: its tasks and objects, with waking and blocking.

use core::sync::atomic::{AtomicBool, Ordering};

use super::descriptors::Descriptors;
use super::endless::Endless;
use super::event::EventLog;
use super::fairness::Fairness;
use super::files::FileUse;
use super::limit::Limit;
use super::listener::Listeners;
use super::object::ObjectTable;
use super::policy::Policies;
use super::reuse::Reuse;
use super::schedule::Step;
use super::stream_lock::StreamUse;
use super::task::{Entry, State, Task, Wait};
use super::task_set::TaskSet;
use super::tasks::{Tasks, search_on};
use super::timers::Early;
use super::watch::{Watch as _, Watcher};
use super::{Effect, Note, ObjectId, TaskId, Wake};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineMemory, EngineVec, Place, engine_vec};
use crate::base::rng::Rng;
use crate::platform::donor::Pool;
use crate::platform::leftovers;
use crate::platform::observers::Observers;
use crate::search::TraceStep;
use crate::search::{Decision, Strategy};

/// Virtual time at an execution's start: a moment in 2025, in nanoseconds since 1970.
const START_OF_TIME: u64 = 1_750_000_000 * 1_000_000_000;
/// The reason why an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Every task ended, or the test's body did and the other tasks are idle.
    Finished,
    /// No task is enabled, and the test's body has not returned.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// It took a very large number of steps, without a sign that it would never end.
    TooLong,
    /// A monitor ended it and states the reason.
    Stopped,
    /// This task ran without yielding while other tasks were enabled.
    Spin(TaskId),
    /// A task needs a donor with a stack of this size, and none is left.
    NoDonor(usize),
    /// The state of a yielding task may contain remains of earlier executions: the execution must
    /// be repeated in clean memory.
    Unclean,
    /// A task calls this function, which changes the process permanently: each execution needs a
    /// process of its own.
    NeedsProcess(&'static str),
}

/// The rule for when the deadline of a task may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timers {
    /// At any time. While a task can run, or before an earlier deadline, this costs as much as a
    /// preemption.
    Any,
    /// Only when no other task can run, the earliest deadline first.
    Last,
}

/// The rule for spurious events: a task wakes up, or its weak compare-exchange fails, without a
/// reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spurious {
    /// All of them may happen; each costs as much as a preemption.
    Any,
    /// None happens.
    Never,
}

/// The state of the running execution.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Execution {
    pub(crate) tasks: Tasks,
    /// The number of `tasks` that belong to this execution.
    pub(crate) live: usize,
    /// The index at which the search for a free donor among them begins.
    retired: usize,
    pub(crate) current: TaskId,
    /// The enabled tasks, some of them only by timing out.
    pub(crate) enabled: TaskSet,
    /// The enabled tasks that can continue only by timing out.
    pub(crate) late: TaskSet,
    pub(crate) objects: ObjectTable,
    pub(crate) log: EventLog,
    pub(crate) fairness: Fairness,
    pub(crate) descriptors: Descriptors,
    pub(crate) policies: Policies,
    pub(crate) observers: Observers,
    /// What follows it from outside.
    pub(crate) listeners: Listeners,
    pub(super) reuse: Reuse,
    pub(crate) streams: StreamUse,
    pub(crate) files: FileUse,
    pub(crate) endless: Endless,
    pub(crate) strategy: Option<Box<dyn Strategy, EngineMemory>>,
    pub(crate) decisions: EngineVec<Decision>,
    /// The points where a confined search has no choice and another search has one: the number of
    /// decisions before the point, and the task that continues there.
    pub(super) passed_over: EngineVec<(u32, TaskId)>,
    pub(super) options: EngineVec<TaskId>,
    /// Hash of all decisions and states that led here.
    pub(super) prefix: u64,
    pub(crate) steps: u64,
    pub(crate) max_steps: u64,
    /// The next step with a check: the step limit, or 0 after a monitor has ended the execution.
    pub(super) horizon: u64,
    /// The number of steps of the longest execution that ended by itself.
    pub(crate) longest: u64,
    /// When timeouts fire.
    pub(crate) timers: Timers,
    /// In some execution, a task began to wait with a deadline while there were other tasks: time
    /// could have passed early.
    pub(crate) could_be_early: bool,
    /// The number of timeouts that fired while another task could run.
    pub(crate) early: u32,
    /// The waits that these timeouts ended; kept only for executions that are reported.
    pub(crate) early_waits: EngineVec<Early>,
    /// The spurious events that may happen.
    pub(crate) spurious: Spurious,
    /// Whether turns that changed nothing are not repeated: see [`super::turn`].
    pub(crate) awaits: bool,
    /// The limit of an execution that is neither explored nor replayed: the test only runs once.
    pub(crate) only_runs: Option<Limit>,
    /// The step limit was passed: the search chooses no more.
    pub(crate) past_limit: bool,
    pub(crate) preemptions: u32,
    /// The step of the newest switch between tasks.
    pub(crate) last_switch: u64,
    /// The step at which a task last waited, as its yields indicate.
    pub(crate) last_wait: u64,
    /// Past the limit: no task's turn ends before this step.
    pub(super) slice_end: u64,
    /// Past the limit, if the tasks repeated a cycle of events there: their newest switch at that
    /// moment.
    pub(super) circle: Option<u64>,
    /// The number of waits that have begun, futex requeues included.
    pub(super) waits: u64,
    pub(crate) clock: u64,
    pub(crate) entropy: Rng,
    pub(crate) ending: Ending,
    pub(crate) body_done: bool,
    /// The output of the tasks, if it is kept.
    pub(crate) output: EngineVec<u8>,
    pub(crate) keeps_output: bool,
    /// The number of scheduling points of all executions, which the watchdog observes.
    pub(crate) pulse: u64,
    /// Set by the zygote when the time budget is used up.
    pub(crate) out_of_time: AtomicBool,
    /// Each execution has its own process.
    pub(crate) has_processes: bool,
    /// The address of the access that killed the program.
    pub(crate) fault: Option<usize>,
    /// Events outside control, in words, each once.
    pub(crate) outside: EngineVec<&'static str>,
    /// The library whose runtime ran its own tasks on the thread that waits for them.
    pub(crate) one_thread_runtime: &'static str,
}

/// The place of the execution.
pub(crate) const PLACE: Place<Execution> = Place::after(&leftovers::PLACE);

/// The execution, in the exploring process and in those with the same memory. Tasks use
/// [`super::running`].
#[inline]
pub(crate) fn execution() -> *mut Execution {
    PLACE.get()
}

impl Execution {
    pub(crate) const fn new() -> Self {
        Self {
            tasks: Tasks::new(),
            live: 0,
            retired: 0,
            current: TaskId(0),
            enabled: TaskSet::new(),
            late: TaskSet::new(),
            objects: ObjectTable::new(),
            log: EventLog::new(),
            fairness: Fairness::new(),
            descriptors: Descriptors::new(),
            policies: Policies::new(),
            observers: Observers::ALL,
            listeners: &[],
            reuse: Reuse::new(),
            streams: StreamUse::new(),
            files: FileUse::new(),
            endless: Endless::new(),
            strategy: None,
            decisions: engine_vec(),
            passed_over: engine_vec(),
            options: engine_vec(),
            prefix: 0,
            steps: 0,
            max_steps: 20_000,
            horizon: 20_000,
            longest: 0,
            timers: Timers::Any,
            could_be_early: false,
            early: 0,
            early_waits: engine_vec(),
            spurious: Spurious::Any,
            awaits: true,
            only_runs: None,
            past_limit: false,
            preemptions: 0,
            last_switch: 0,
            last_wait: 0,
            slice_end: 0,
            circle: None,
            waits: 0,
            clock: START_OF_TIME,
            entropy: Rng::new(0),
            ending: Ending::Finished,
            body_done: false,
            output: engine_vec(),
            keeps_output: false,
            pulse: 0,
            out_of_time: AtomicBool::new(false),
            has_processes: false,
            fault: None,
            outside: engine_vec(),
            one_thread_runtime: "",
        }
    }

    /// Makes the structure serve a new execution.
    pub(crate) fn reset(&mut self) {
        self.fairness.clear(self.live);
        self.live = 0;
        self.retired = 0;
        self.run(TaskId(0));
        self.enabled.clear();
        self.late.clear();
        self.objects.clear();
        self.log.clear();
        self.descriptors.clear();
        self.reuse.clear();
        self.decisions.clear();
        self.passed_over.clear();
        self.prefix = 0;
        self.steps = 0;
        self.horizon = self.max_steps;
        self.past_limit = false;
        self.awaits = true;
        self.preemptions = 0;
        self.early = 0;
        self.early_waits.clear();
        self.last_switch = 0;
        self.last_wait = 0;
        self.slice_end = 0;
        self.circle = None;
        self.waits = 0;
        self.clock = START_OF_TIME;
        self.entropy = Rng::new(0);
        self.ending = Ending::Finished;
        self.endless.begin();
        self.body_done = false;
        self.output.clear();
    }

    /// Whether the time budget is used up.
    #[inline]
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Relaxed)
    }

    /// Whether the execution ended by itself.
    pub(crate) fn has_finished(&self) -> bool {
        self.ending == Ending::Finished
    }

    /// Makes `task` the running task.
    #[inline]
    pub(crate) fn run(&mut self, task: TaskId) {
        self.current = task;
        self.tasks.run(task);
    }

    #[inline]
    pub(crate) fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task.0 as usize]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.0 as usize]
    }

    #[inline]
    pub(crate) fn running(&mut self) -> &mut Task {
        self.tasks.running_mut()
    }

    /// The tasks of this execution.
    pub(crate) fn live_tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        (0..).map(TaskId).zip(&self.tasks[..self.live])
    }

    /// Adds a task; `None` where no donor is left.
    pub(crate) fn add_task(
        &mut self,
        pool: &mut Pool,
        entry: Entry,
        stack: usize,
    ) -> Option<TaskId> {
        let donor = match pool.acquire(stack) {
            Some(donor) => donor,
            None => self.retired_donor(pool, stack)?,
        };
        let flow = pool.prepare(donor);
        let id = TaskId(self.live as u32);
        // A child's identity is the history of its parent so far.
        let (parent, site, history) = if self.live == 0 {
            (None, None, 0)
        } else {
            let parent = self.task(self.current);
            (Some(self.current), parent.site, parent.last_event)
        };
        let last_event = mix(history, 0x5eed);
        match self.tasks.get_mut(self.live) {
            Some(task) => {
                task.renew(entry, donor, flow);
                task.last_event = last_event;
            }
            None => self.tasks.push(Task {
                last_event,
                ..Task::new(entry, donor, flow)
            }),
        }
        Watcher::task_added(parent, id, site);
        if let Some(parent) = parent {
            self.files.spawned(parent, id);
        }
        if self.live == 0 {
            let none = TraceStep::NONE;
            self.log.trace.begin(id, none, none, false);
        }
        self.live += 1;
        self.enabled.insert(id);
        self.fairness.add(id, self.steps);
        Some(id)
    }

    /// The donor of a task that has ended and to which the program can no longer refer.
    #[cold]
    fn retired_donor(&mut self, pool: &mut Pool, stack: usize) -> Option<usize> {
        let fits = |task: &Task| {
            task.released
                && task.state == State::Finished
                && task.donor != Task::NO_DONOR
                && pool.get(task.donor).stack_size >= stack
        };
        let at = search_on(self.live, self.retired, |task| fits(&self.tasks[task]))?;
        self.retired = at + 1;
        let donor = core::mem::replace(&mut self.tasks[at].donor, Task::NO_DONOR);
        let stack = pool.get(donor);
        Watcher::stack_reused(stack.stack_low, stack.stack_low + stack.stack_size);
        Some(donor)
    }

    /// Records that the newest event also touches `object`. Returns the same as [`Self::record`].
    pub(super) fn touch(&mut self, object: ObjectId, effect: Effect) -> Step {
        let task = self.tasks.running_mut();
        let is_watched = self
            .log
            .depend(object, effect, &mut self.objects, &mut task.last_event);
        if is_watched {
            self.wake_watchers(object);
        }
        let Task { op, site, .. } = *self.tasks.running();
        self.tell_access(op, object, effect, site)
    }

    /// Makes a blocked task runnable.
    pub(crate) fn wake(&mut self, task: TaskId, wake: Wake) {
        match self.task(task).state {
            State::Blocked(Wait::Object(object)) => {
                let object = self.objects.get_mut(object);
                object.waiters = object.waiters.saturating_sub(1);
            }
            State::Blocked(Wait::Descriptors(..) | Wait::Outside(..)) => {
                self.descriptors.waiting -= 1;
            }
            _ => {}
        }
        let state = self.task(task).state;
        let step = self.log.trace.step();
        let deadline = self.task(task).deadline;
        let timed = deadline.map(|_| self.timed_object(task));
        let woken = self.task_mut(task);
        if wake == Wake::TimedOut && state != State::Blocked(Wait::Time) {
            woken.note = Note::TIMED_OUT;
        }
        // The dependences of a lock are those of its object.
        if wake == Wake::Notified && !matches!(state, State::Blocked(Wait::Lock(..))) {
            woken.waker = step;
        }
        woken.state = State::Runnable;
        woken.deadline = None;
        woken.timed = timed;
        woken.wake = wake;
        woken.idle_turns = 0;
        self.late.remove(task);
        if !self.enabled.contains(task) {
            self.enabled.insert(task);
            self.fairness.enabled(task, self.steps);
        }
    }

    /// Records a yield of the current task for the fair scheduler.
    pub(super) fn yield_fairly(&mut self) {
        let progressed = self.running().spin.take_progress();
        let (task, step) = (self.current, self.steps);
        self.fairness
            .yielded(task, progressed, step, &self.enabled, &self.late);
    }

    /// Blocks the current task. With a deadline it stays enabled, because it can time out.
    pub(crate) fn block(&mut self, wait: Wait, deadline: Option<u64>) {
        let current = self.current;
        match wait {
            Wait::Object(object) => self.objects.get_mut(object).waiters += 1,
            Wait::Descriptors(..) | Wait::Outside(..) => self.descriptors.waiting += 1,
            Wait::Task(task) => self.task_mut(task).is_awaited = true,
            _ => {}
        }
        self.waits += 1;
        let place = self.waits;
        let task = self.running();
        task.state = State::Blocked(wait);
        task.queue = place;
        task.deadline = deadline;
        if deadline.is_some() {
            self.running().waits_since = self.clock;
            self.could_be_early |= self.live > 1;
            self.begin_timed(wait);
            self.late.insert(current);
            // A timed wait is a yield (PLDI'08, section on fairness; for Rust also
            // park_timeout, recv_timeout and sleep).
            self.last_wait = self.steps;
            if self.body_done {
                self.running().idle_turns += 1;
            }
            self.yield_fairly();
        } else {
            self.enabled.remove(current);
        }
    }
}
