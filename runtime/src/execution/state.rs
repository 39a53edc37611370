//! One execution: its tasks and objects, and what wakes and blocks.

use super::descriptors::Descriptors;
use super::endless::Endless;
use super::event::{EventLog, Note};
use super::fairness::Fairness;
use super::files::FileUse;
use super::limit::Limit;
use super::object::ObjectTable;
use super::policy::Policies;
use super::reuse::Reuse;
use super::schedule::Step;
use super::stream_lock::StreamUse;
use super::task::{Entry, State, Task, Wait};
use super::task_set::TaskSet;
use super::tasks::{Tasks, search_on};
use super::timers::Early;
use super::trace::TraceStep;
use super::{Effect, ObjectId, TaskId, Wake};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};
use crate::base::rng::Rng;
use crate::monitor::race;
use crate::platform::donor::Pool;
use crate::platform::observers::Observers;
use crate::search::{Decision, Strategy};

/// Virtual time at an execution's start: a moment in 2025, in nanoseconds since 1970.
const START_OF_TIME: u64 = 1_750_000_000 * 1_000_000_000;
/// Why an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Every task ended, or the test's body did and the rest is idle.
    Finished,
    /// No task can go on, and the test's body has not returned.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// It took very many steps, and nothing says that it would not end.
    TooLong,
    /// A monitor ended it, and says why.
    Stopped,
    /// This task ran on without yielding while others could run.
    Spin(TaskId),
    /// A task needs a donor with so large a stack, and none is left.
    NoDonor(usize),
    /// A task's state is looked at that may contain what earlier executions left: to be
    /// run again in clean memory.
    Unclean,
    /// A task calls this function, which changes the process for good: each execution
    /// needs one of its own.
    NeedsProcess(&'static str),
}

/// When the deadline of a task may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timers {
    /// At any time; while a task can run, or before an earlier deadline, this
    /// costs as a preemption does.
    Any,
    /// Only when nothing else can run, the earliest first.
    Last,
}

/// What happens for no reason: that a task wakes up, or that its weak exchange fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spurious {
    /// Whatever may; each time costs as a preemption does.
    Any,
    /// Nothing.
    Never,
}

/// The state of the running execution.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Execution {
    pub(crate) tasks: Tasks,
    /// How many of `tasks` belong to this execution.
    pub(crate) live: usize,
    /// Where among them the search for a donor that is free again begins.
    retired: usize,
    pub(crate) current: TaskId,
    /// Tasks that can go on, some of them only by timing out.
    pub(crate) enabled: TaskSet,
    /// Those of them that can go on only by timing out.
    pub(crate) late: TaskSet,
    pub(crate) objects: ObjectTable,
    pub(crate) log: EventLog,
    pub(crate) fairness: Fairness,
    pub(crate) descriptors: Descriptors,
    pub(crate) policies: Policies,
    pub(crate) observers: Observers,
    pub(super) reuse: Reuse,
    pub(crate) streams: StreamUse,
    pub(crate) files: FileUse,
    pub(crate) endless: Endless,
    pub(crate) strategy: Option<Box<dyn Strategy, EngineMemory>>,
    pub(crate) decisions: EngineVec<Decision>,
    /// Where a confined search has no choice and another has one: the decisions before, and
    /// the task that goes on.
    pub(super) passed_over: EngineVec<(u32, TaskId)>,
    pub(super) options: EngineVec<TaskId>,
    /// Hash of all that led here.
    pub(super) prefix: u64,
    pub(crate) steps: u64,
    pub(crate) max_steps: u64,
    /// At this step something is to be looked at: the step limit, or 0 once a monitor
    /// has ended the execution.
    pub(super) horizon: u64,
    /// Steps of the longest execution that ended by itself.
    pub(crate) longest: u64,
    /// When timeouts fire.
    pub(crate) timers: Timers,
    /// In some execution a task began to wait with a deadline while there were others: time
    /// could pass early.
    pub(crate) could_be_early: bool,
    /// So many timeouts fired while another task could run.
    pub(crate) early: u32,
    /// Which waits they ended, kept of executions that are told.
    pub(crate) early_waits: EngineVec<Early>,
    /// What happens for no reason.
    pub(crate) spurious: Spurious,
    /// Turns that changed nothing are not repeated: see [`super::turn`].
    pub(crate) awaits: bool,
    /// Nothing is explored or replayed, the test is only run once: what ends it then.
    pub(crate) only_runs: Option<Limit>,
    /// The step limit was passed: nothing is chosen any more.
    pub(crate) past_limit: bool,
    pub(crate) preemptions: u32,
    /// Step of the newest switch between tasks.
    pub(crate) last_switch: u64,
    /// Step at which a task last waited, as far as its yields tell.
    pub(crate) last_wait: u64,
    /// Past the limit: no task's turn ends before this step.
    pub(super) slice_end: u64,
    /// Past the limit, if the tasks went round in a circle there: their newest switch then.
    pub(super) circle: Option<u64>,
    /// How many waits have begun, futex requeues included.
    pub(super) waits: u64,
    pub(crate) clock: u64,
    pub(crate) entropy: Rng,
    pub(crate) ending: Ending,
    pub(crate) body_done: bool,
    /// What the tasks printed, where it is kept.
    pub(crate) output: EngineVec<u8>,
    pub(crate) keeps_output: bool,
    /// Scheduling points of all executions: the watchdog's pulse.
    pub(crate) pulse: u64,
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

    /// Whether it came to an end by itself.
    pub(crate) fn has_finished(&self) -> bool {
        self.ending == Ending::Finished
    }

    /// `task` runs from now on.
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
        // A child's identity: its parent's history so far.
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
        race::added(parent, id, site);
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

    /// The donor of a task that has ended and that nobody will ask for again.
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
        race::forget(stack.stack_low, stack.stack_low + stack.stack_size);
        Some(donor)
    }

    /// The event just recorded touches `object`, too; gives back what [`Self::record`] does.
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
        // A lock's dependences are those of its object.
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

    /// Blocks the current task. With a deadline it stays enabled: it can time out.
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
            self.fairness
                .yielded(current, self.steps, &self.enabled, &self.late);
        } else {
            self.enabled.remove(current);
        }
    }
}
