//! One execution: its state, and the scheduling point.

use super::event::{Event, EventLog, mix};
use super::fairness::Fairness;
use super::object::{ObjectId, ObjectTable};
use super::policy::{Policies, Policy};
use super::task::{Entry, State, Task, Wait};
use super::task_set::TaskSet;
use super::{Effect, Op, Site, TaskId, Wake};
use crate::monitor::Panic;
use crate::platform::donor::Pool;
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};
use crate::search::{ChoicePoint, Decision, Rng, SchedulingPoint, Strategy};

/// Virtual time at an execution's start: a moment in 2025, in nanoseconds since 1970.
const START_OF_TIME: u64 = 1_750_000_000 * 1_000_000_000;
/// A task that yielded so often since the test's body returned is idle.
const IDLE_TURNS: u32 = 3;

/// Why an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Every task ended, or the test's body did and the rest is idle.
    Finished,
    /// No task can go on, and the test's body has not returned.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// This task ran on without yielding while others could run.
    Spin(TaskId),
    /// A task needs a donor with so large a stack, and none is left.
    NoDonor(usize),
}

/// What the place of an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A scheduling point.
    Point,
    /// A scheduling point at which the task has been spinning.
    Spin,
    /// Within a call into `atomic` code.
    Inside,
}

/// What a scheduling point decided.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// The current task goes on.
    Continue,
    /// Another one runs.
    Switch(TaskId),
    /// The execution ends.
    End,
}

/// The state of the running execution.
pub(crate) struct Execution {
    pub(crate) tasks: EngineVec<Task>,
    /// How many of `tasks` belong to this execution.
    pub(crate) live: usize,
    pub(crate) current: TaskId,
    /// Tasks that can go on, some of them only by timing out.
    pub(crate) enabled: TaskSet,
    pub(crate) objects: ObjectTable,
    pub(crate) log: EventLog,
    pub(crate) fairness: Fairness,
    pub(crate) policies: Policies,
    pub(crate) strategy: Option<Box<dyn Strategy, EngineMemory>>,
    pub(crate) decisions: EngineVec<Decision>,
    options: EngineVec<TaskId>,
    /// Hash of all that led here.
    prefix: u64,
    pub(crate) steps: u64,
    pub(crate) max_steps: u64,
    pub(crate) preemptions: u32,
    /// Step of the newest yield.
    last_yield: u64,
    pub(crate) clock: u64,
    pub(crate) entropy: Rng,
    pub(crate) ending: Ending,
    pub(crate) body_done: bool,
    pub(crate) panics: EngineVec<Panic>,
    /// Scheduling points of all executions: the watchdog's pulse.
    pub(crate) pulse: u64,
}

impl Execution {
    pub(crate) const fn new() -> Self {
        Self {
            tasks: engine_vec(),
            live: 0,
            current: TaskId(0),
            enabled: TaskSet::new(),
            objects: ObjectTable::new(),
            log: EventLog::new(),
            fairness: Fairness::new(),
            policies: Policies::new(),
            strategy: None,
            decisions: engine_vec(),
            options: engine_vec(),
            prefix: 0,
            steps: 0,
            max_steps: 20_000,
            preemptions: 0,
            last_yield: 0,
            clock: START_OF_TIME,
            entropy: Rng::new(0),
            ending: Ending::Finished,
            body_done: false,
            panics: engine_vec(),
            pulse: 0,
        }
    }

    /// Makes the structure serve a new execution.
    pub(crate) fn reset(&mut self) {
        self.fairness.clear(self.live);
        self.live = 0;
        self.current = TaskId(0);
        self.enabled.clear();
        self.objects.clear();
        self.log.clear();
        self.decisions.clear();
        self.prefix = 0;
        self.steps = 0;
        self.preemptions = 0;
        self.last_yield = 0;
        self.clock = START_OF_TIME;
        self.entropy = Rng::new(0);
        self.ending = Ending::Finished;
        self.body_done = false;
        self.panics.clear();
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
        &mut self.tasks[self.current.0 as usize]
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
        let id = TaskId(self.live as u32);
        match self.tasks.get_mut(self.live) {
            Some(task) => task.renew(entry, donor),
            None => self.tasks.push(Task::new(entry, donor)),
        }
        // A child's identity: its parent's history so far.
        let history = self.tasks[self.current.0 as usize].last_event;
        self.tasks[self.live].last_event = mix(history, 0x5eed);
        self.live += 1;
        self.enabled.insert(id);
        self.fairness.add(id, self.steps);
        Some(id)
    }

    /// The donor of a task that has ended and that nobody will ask for again.
    #[cold]
    fn retired_donor(&mut self, pool: &mut Pool, stack: usize) -> Option<usize> {
        let fits = |task: &&mut Task| {
            task.released
                && task.state == State::Finished
                && task.donor != Task::NO_DONOR
                && pool.get(task.donor).stack_size >= stack
        };
        let task = self.tasks[..self.live].iter_mut().find(fits)?;
        let donor = core::mem::replace(&mut task.donor, Task::NO_DONOR);
        pool.renew(donor);
        Some(donor)
    }

    /// The object at `address`, new or known; none at address 0.
    #[inline]
    pub(crate) fn object(&mut self, address: usize) -> ObjectId {
        if address == 0 {
            return ObjectId::NONE;
        }
        let history = self.tasks[self.current.0 as usize].last_event;
        self.objects.at(address, history)
    }

    /// The current task arrives at a scheduling point before `op`.
    #[inline]
    pub(crate) fn arrive(&mut self, op: Op, object: ObjectId, site: Option<Site>) -> Step {
        match self.announce(op, object, site) {
            Arrival::Point => self.decide(false),
            Arrival::Spin => self.yield_step(),
            Arrival::Inside => self.inside_step(),
        }
    }

    /// Notes what the current task does next, and what this makes of the place.
    #[inline]
    pub(crate) fn announce(&mut self, op: Op, object: ObjectId, site: Option<Site>) -> Arrival {
        let policy = site.map(|site| self.policies.of(site));
        let task = &mut self.tasks[self.current.0 as usize];
        task.op = op;
        task.object = object;
        let inside = match policy {
            Some(Policy::Preempt) => {
                task.in_atomic = false;
                false
            }
            Some(Policy::Atomic) => core::mem::replace(&mut task.in_atomic, true),
            None => task.in_atomic,
        };
        if let Some(site) = site {
            task.site = Some(site);
            if task.spin.is_watching() && object != ObjectId::NONE {
                let version = self.objects.get(object).version;
                if task.spin.spins(site, object, version) {
                    return Arrival::Spin;
                }
            }
        }
        if inside {
            Arrival::Inside
        } else {
            Arrival::Point
        }
    }

    /// A step inside a call into `atomic` code: no scheduling point.
    #[inline]
    pub(crate) fn inside_step(&mut self) -> Step {
        self.pulse += 1;
        self.steps += 1;
        if self.steps >= self.max_steps && self.passes_limit() {
            Step::End
        } else {
            Step::Continue
        }
    }

    /// The current task yields: switching away is free.
    pub(crate) fn yield_step(&mut self) -> Step {
        self.last_yield = self.steps;
        if self.body_done {
            self.running().idle_turns += 1;
        }
        self.fairness
            .yielded(self.current, self.steps, &self.enabled);
        self.decide(true)
    }

    /// Records the current task's operation.
    #[inline]
    pub(crate) fn record(&mut self, op: Op, id: ObjectId, effect: Effect, site: Option<Site>) {
        let task = &mut self.tasks[self.current.0 as usize];
        match site {
            Some(site) if id != ObjectId::NONE && effect == Effect::Read => {
                let version = self.objects.get(id).version;
                task.spin.read(site, id, version);
            }
            _ => task.spin.progress(),
        }
        let preempted = core::mem::replace(&mut task.preempted, false);
        let event = Event {
            site,
            task: self.current,
            object: id,
            op,
            preempted,
        };
        self.log
            .record(event, effect, &mut self.objects, &mut task.last_event);
    }

    /// The heart: which task performs the next step. `yielded` says that the
    /// current task gives way.
    pub(crate) fn decide(&mut self, yielded: bool) -> Step {
        self.pulse += 1;
        self.steps += 1;
        if self.steps >= self.max_steps && self.passes_limit() {
            return Step::End;
        }
        if self.enabled.is_only(self.current) && !self.task(self.current).times_out() {
            if self.body_done && self.is_idle() {
                return self.end(Ending::Finished);
            }
            self.fairness.ran(self.current, self.steps);
            return Step::Continue;
        }
        self.choose_next(yielded)
    }

    fn choose_next(&mut self, yielded: bool) -> Step {
        if self.enabled.is_empty() {
            let ending = if self.body_done {
                Ending::Finished
            } else {
                Ending::Deadlock
            };
            return self.end(ending);
        }
        if self.body_done && self.is_idle() {
            return self.end(Ending::Finished);
        }
        let current = self.current;
        self.list_options(yielded);
        let runs_on = self.options[0] == current && !yielded && !self.task(current).times_out();
        let next = if let [only] = self.options[..] {
            only
        } else {
            let place = u64::from(current.0) << 32 | self.log.events.len() as u64;
            self.prefix = mix(self.prefix ^ self.enabled.fingerprint(), place);
            let point = SchedulingPoint {
                index: self.decisions.len() as u32,
                options: &self.options,
                preempts: runs_on,
                prefix: self.prefix,
            };
            let strategy = self.strategy.as_mut().expect("an execution has a strategy");
            let next = self.options[strategy.choose_task(&point)];
            self.decisions.push(Decision::Task(next));
            self.prefix ^= u64::from(next.0) << 48;
            next
        };
        if self.task(next).times_out() {
            self.fire_timers(next);
        }
        self.fairness.ran(next, self.steps);
        if next == current {
            return Step::Continue;
        }
        if runs_on {
            self.preemptions += 1;
            self.running().preempted = true;
        }
        Step::Switch(next)
    }

    /// Fills `options`: first the task that an execution without preemptions runs
    /// next. Tasks that could only time out come last.
    fn list_options(&mut self, yielded: bool) {
        let Self {
            options,
            enabled,
            tasks,
            fairness,
            current,
            ..
        } = self;
        let current = *current;
        options.clear();
        let restrained = fairness.restrains();
        let allowed = |task| !restrained || fairness.allows(task, enabled);
        let late = |task: TaskId| tasks[task.0 as usize].times_out();
        let runs_on = enabled.contains(current) && !late(current) && allowed(current);
        if runs_on && !yielded {
            options.push(current);
        }
        let mut any_late = false;
        enabled.for_each(|task| {
            if task != current && allowed(task) {
                if late(task) {
                    any_late = true;
                } else {
                    options.push(task);
                }
            }
        });
        if runs_on && yielded {
            options.push(current);
        }
        if any_late {
            let others = enabled.iter().filter(|&task| task != current);
            options.extend(others.filter(|&task| late(task) && allowed(task)));
        }
        if enabled.contains(current) && late(current) && allowed(current) {
            options.push(current);
        }
        debug_assert!(!options.is_empty(), "the fair relation is acyclic");
    }

    /// An outcome of the current task's operation, of `outcomes` many.
    pub(crate) fn choose_outcome(&mut self, outcomes: u32, costs: bool) -> u32 {
        if outcomes < 2 {
            return 0;
        }
        self.prefix = mix(self.prefix, 0xc401_ce00 | u64::from(outcomes));
        let point = ChoicePoint {
            index: self.decisions.len() as u32,
            outcomes,
            costs,
            prefix: self.prefix,
        };
        let strategy = self.strategy.as_mut().expect("an execution has a strategy");
        let outcome = strategy.choose_outcome(&point);
        self.decisions.push(Decision::Outcome(outcome));
        self.prefix = mix(self.prefix, outcome.into());
        if costs && outcome != 0 {
            self.preemptions += 1;
        }
        outcome
    }

    /// Time moves to `task`'s deadline: it and all that were due before time out.
    fn fire_timers(&mut self, task: TaskId) {
        let deadline = self.task(task).deadline.unwrap_or(self.clock);
        self.clock = self.clock.max(deadline);
        for id in (0..self.live as u32).map(TaskId) {
            let due = self.task(id).times_out() && self.task(id).deadline <= Some(self.clock);
            if due {
                self.wake(id, Wake::TimedOut);
            }
        }
    }

    /// Makes a blocked task runnable.
    pub(crate) fn wake(&mut self, task: TaskId, wake: Wake) {
        if let State::Blocked(Wait::Object(object)) = self.task(task).state {
            let object = self.objects.get_mut(object);
            object.waiters = object.waiters.saturating_sub(1);
        }
        let woken = self.task_mut(task);
        woken.state = State::Runnable;
        woken.deadline = None;
        woken.wake = wake;
        woken.idle_turns = 0;
        if !self.enabled.contains(task) {
            self.enabled.insert(task);
            self.fairness.enabled(task, self.steps);
        }
    }

    /// Blocks the current task. With a deadline it stays enabled: it can time out.
    pub(crate) fn block(&mut self, wait: Wait, deadline: Option<u64>) {
        let current = self.current;
        if let Wait::Object(object) = wait {
            self.objects.get_mut(object).waiters += 1;
        }
        let task = self.running();
        task.state = State::Blocked(wait);
        task.deadline = deadline;
        if deadline.is_some() {
            // A timed wait is a yield (PLDI'08, section on fairness; for Rust also
            // park_timeout, recv_timeout and sleep).
            self.last_yield = self.steps;
            if self.body_done {
                self.running().idle_turns += 1;
            }
            self.fairness.yielded(current, self.steps, &self.enabled);
        } else {
            self.enabled.remove(current);
        }
    }

    /// Whether every task that could go on only polls or waits for time.
    fn is_idle(&self) -> bool {
        self.enabled.iter().all(|id| {
            let task = self.task(id);
            task.times_out() || task.idle_turns >= IDLE_TURNS
        })
    }

    /// Ends the execution.
    pub(crate) fn end(&mut self, ending: Ending) -> Step {
        self.ending = ending;
        Step::End
    }

    /// At the step limit: whether the execution ends here, and as what.
    #[cold]
    fn passes_limit(&mut self) -> bool {
        if self.body_done {
            self.ending = Ending::Finished;
            return true;
        }
        let window = self.max_steps / 2;
        let yields = self.last_yield + window >= self.steps && self.last_yield != 0;
        let others = self.enabled.iter().any(|task| task != self.current);
        if yields {
            self.ending = Ending::Livelock;
            return true;
        }
        if others {
            self.ending = Ending::Spin(self.current);
            return true;
        }
        // One task alone, that has much to do: long, but neither unfair nor stuck.
        self.steps >= self.max_steps.saturating_mul(1000) && {
            self.ending = Ending::Livelock;
            true
        }
    }
}
