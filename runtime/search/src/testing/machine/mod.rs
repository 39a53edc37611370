//! The machine that runs programs. It schedules the tasks and records the trace as the engine
//! does.

mod acts;

use std::fmt;

use super::memory::Memory;
use super::{Act, Final, OBJECTS, Program, mix};
use crate::{ChoicePoint, Decision, Outcomes, Past, Pending, SchedulingPoint, Strategy};
use crate::{Labelled, ObjectId, Trace, TraceStep};
use chess_vocabulary::{Effect, Op, TaskId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    /// Waits at this object until another task wakes it.
    Waiting(ObjectId),
    /// Waits for a change of one of the values that it awaits.
    Awaiting,
    /// Has left because an assumption does not hold.
    Left,
    Done,
}

#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Task {
    at: usize,
    state: State,
    /// The mutex to reacquire, after a wait on a condition variable.
    relocks: Option<u32>,
    waker: u32,
    retries: bool,
    /// The number of values whose change the task awaits. It is kept after a change, until the
    /// task runs.
    watches: usize,
    /// If the task is in an [`Act::Await`] and loads the second value next: the version of the
    /// first value when the task loaded it.
    first_version: Option<u32>,
    last: u64,
    seen: u64,
    unparks: u32,
    /// The task waits for the readers of the lock that it acquires next. Later readers must wait
    /// for this task.
    queued: bool,
    /// For each lock, the number of times that the task holds it as a reader.
    reads: [u32; OBJECTS],
    /// The number of owners of each object that the task holds.
    owns: [u32; OBJECTS],
    /// The task has arrived at the barrier at which it waits.
    has_come: bool,
    /// The task has done nothing since its last yield.
    is_silent: bool,
    /// The number of loads of the value on which the task spins.
    loads: u32,
}

/// The state of an object that is initialised once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Initialised {
    No,
    By(usize),
    Yes,
}

/// One execution of a program.
pub struct Machine<'a> {
    program: &'a Program,
    tasks: Vec<Task>,
    current: usize,
    /// The current task yields.
    yields: bool,
    values: [u64; OBJECTS],
    versions: [u32; OBJECTS],
    owners: [Option<usize>; OBJECTS],
    readers: [u32; OBJECTS],
    /// For each lock, the number of tasks that wait for its readers. While it is not 0, no reader
    /// can acquire the lock.
    queued: [u32; OBJECTS],
    queues: [u32; OBJECTS],
    initialised: [Initialised; OBJECTS],
    /// The number of tasks that wait at each barrier.
    arrived: [u32; OBJECTS],
    /// The number of owners of each object.
    owners_of: [u32; OBJECTS],
    /// The calls in progress. Each one has the task, the object, and a flag: whether the call is
    /// shared.
    calls: Vec<(usize, u32, bool)>,
    /// Some task of the program checks whether another task has ended.
    looks_at_ends: bool,
    /// The steps of the execution.
    pub trace: Trace,
    /// The line of each touch: the number of the act that made the touch.
    pub labels: Vec<Labelled>,
    /// The decisions of the execution.
    pub decisions: Vec<Decision>,
    options: Vec<TaskId>,
    prefix: u64,
    /// The number of preemptions.
    pub preemptions: u32,
    /// The sum of the choices of data.
    pub data: u64,
    /// The stores of the values that [`Act::Atomic`] accesses.
    pub memory: Option<&'a mut dyn Memory>,
}

fn object(kind: u32, number: u32) -> ObjectId {
    ObjectId(kind * OBJECTS as u32 + number)
}

const VALUE: u32 = 0;
const LOCK: u32 = 1;
const CONDVAR: u32 = 2;
const CHANNEL: u32 = 3;
const THREAD: u32 = 4;
/// The kind of an object that only one task touches.
const OWN: u32 = 5;
const ONCE: u32 = 6;
const BARRIER: u32 = 7;
const ARC: u32 = 8;
/// The kind of the end of a task.
const END: u32 = 9;
/// The kind of an object with calls.
const CALL: u32 = 10;

pub(super) fn past(trace: &Trace) -> Past<'_> {
    Past {
        trace,
        name: &|object| object.0 as usize + 1,
    }
}

fn looks_at_ends(program: &Program) -> bool {
    let mut acts = program.iter().flatten();
    acts.any(|act| matches!(act, Act::IsFinished(_)))
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {:?}", self.program, self.decisions)
    }
}

impl<'a> Machine<'a> {
    /// A machine without a memory model.
    pub fn new(program: &'a Program) -> Self {
        Self {
            program,
            tasks: Vec::new(),
            current: 0,
            yields: false,
            values: [0; OBJECTS],
            versions: [0; OBJECTS],
            owners: [None; OBJECTS],
            readers: [0; OBJECTS],
            queued: [0; OBJECTS],
            queues: [0; OBJECTS],
            initialised: [Initialised::No; OBJECTS],
            arrived: [0; OBJECTS],
            owners_of: [program.len() as u32; OBJECTS],
            calls: Vec::new(),
            looks_at_ends: looks_at_ends(program),
            trace: Trace::new(),
            labels: Vec::new(),
            decisions: Vec::new(),
            options: Vec::new(),
            prefix: 0,
            preemptions: 0,
            data: 0,
            memory: None,
        }
    }

    /// A machine whose [`Act::Atomic`] accesses `memory`.
    pub fn with_memory(program: &'a Program, memory: &'a mut dyn Memory) -> Self {
        Self {
            memory: Some(memory),
            ..Self::new(program)
        }
    }

    /// Begins a new execution.
    pub fn begin(&mut self) {
        let task = Task {
            at: 0,
            state: State::Ready,
            relocks: None,
            waker: TraceStep::NONE,
            retries: false,
            watches: 0,
            first_version: None,
            last: 0,
            seen: 0,
            unparks: 0,
            queued: false,
            reads: [0; OBJECTS],
            owns: [1; OBJECTS],
            has_come: false,
            is_silent: false,
            loads: 0,
        };
        let Self {
            mut tasks,
            mut trace,
            mut labels,
            mut decisions,
            options,
            mut memory,
            ..
        } = std::mem::replace(self, Self::new(self.program));
        tasks.clear();
        tasks.resize(self.program.len(), task);
        decisions.clear();
        labels.clear();
        trace.is_wanted = true;
        trace.clear();
        trace.begin(TaskId(0), TraceStep::NONE, TraceStep::NONE, false);
        if let Some(memory) = &mut memory {
            memory.begin(self.program.len());
        }
        self.memory = memory;
        // Only the allocations of these fields are kept.
        self.tasks = tasks;
        self.trace = trace;
        self.labels = labels;
        self.decisions = decisions;
        self.options = options;
    }

    fn next(&self, task: usize) -> Option<Act> {
        self.program[task].get(self.tasks[task].at).copied()
    }

    fn is_enabled(&self, task: usize) -> bool {
        match self.tasks[task].state {
            State::Waiting(_) | State::Awaiting | State::Left | State::Done => return false,
            State::Ready => {}
        }
        if let Some(mutex) = self.tasks[task].relocks {
            return self.owners[mutex as usize].is_none();
        }
        match self.next(task) {
            Some(Act::Lock(m)) => {
                let has_readers = self.readers[m as usize] > 0;
                self.owners[m as usize].is_none() && !(has_readers && self.tasks[task].queued)
            }
            Some(Act::Read(m)) => self.owners[m as usize].is_none() && self.queued[m as usize] == 0,
            Some(Act::UntilIdle) => false,
            _ => true,
        }
    }

    fn pending(&self, task: usize) -> Pending {
        let (op, id) = match (self.tasks[task].relocks, self.next(task)) {
            (Some(m), _) => (Op::MutexRelock, object(LOCK, m)),
            (None, Some(act)) => self.operation(task, act),
            (None, None) if self.looks_at_ends => (Op::Exit, object(END, task as u32)),
            (None, None) => (Op::Exit, ObjectId(100 + task as u32)),
        };
        Pending {
            op,
            object: id.0 as usize + 1,
        }
    }

    /// The operation of `task` that performs `act`, and its object.
    fn operation(&self, task: usize, act: Act) -> (Op, ObjectId) {
        match act {
            Act::Atomic(v, access) => (access.op(), object(VALUE, v)),
            Act::Fence(_) => (Op::Fence, ObjectId(101 + task as u32)),
            Act::Load(v) | Act::LoadOneOrBoth(v, _) | Act::Spin(v, _) => {
                (Op::AtomicLoad, object(VALUE, v))
            }
            Act::Store(v, _) => (Op::AtomicStore, object(VALUE, v)),
            Act::Add(v) => (Op::AtomicFetchAdd, object(VALUE, v)),
            Act::Exchange(v, ..) => (Op::AtomicCompareExchange, object(VALUE, v)),
            Act::Swap(v, ..) => (Op::AtomicSwap, object(VALUE, v)),
            Act::Lock(m) => (Op::MutexLock, object(LOCK, m)),
            Act::TryLock(m) => (Op::MutexTryLock, object(LOCK, m)),
            Act::Unlock(m) => (Op::MutexUnlock, object(LOCK, m)),
            Act::Read(m) => (Op::RwLockRead, object(LOCK, m)),
            Act::TryRead(m) => (Op::RwLockTryRead, object(LOCK, m)),
            Act::Downgrade(m) => (Op::RwLockDowngrade, object(LOCK, m)),
            Act::EndRead(m) => (Op::RwLockReadUnlock, object(LOCK, m)),
            Act::Wait(c, _) => (Op::CondvarWait, object(CONDVAR, c)),
            Act::NotifyOne(c) => (Op::NotifyOne, object(CONDVAR, c)),
            Act::NotifyAll(c) => (Op::NotifyAll, object(CONDVAR, c)),
            Act::Send(c) => (Op::ChannelSend, object(CHANNEL, c)),
            Act::TrySend(c) => (Op::ChannelTrySend, object(CHANNEL, c)),
            Act::Recv(c) => (Op::ChannelRecv, object(CHANNEL, c)),
            Act::TryRecv(c) => (Op::ChannelTryRecv, object(CHANNEL, c)),
            Act::Unpark(t) => (Op::Unpark, object(THREAD, t)),
            Act::Park => (Op::Park, object(THREAD, task as u32)),
            Act::Await(v, w) => {
                let is_second = self.tasks[task].first_version.is_some();
                (Op::AtomicLoad, object(VALUE, if is_second { w } else { v }))
            }
            Act::Init(o) => (Op::OnceLockGetOrInit, object(ONCE, o)),
            Act::InitEnd(o) => (Op::OnceComplete, object(ONCE, o)),
            Act::InitSet(o) => (Op::OnceLockSet, object(ONCE, o)),
            Act::InitGet(o) => (Op::OnceLockGet, object(ONCE, o)),
            Act::InitWait(o) => (Op::OnceLockWait, object(ONCE, o)),
            Act::Barrier(b) => (Op::BarrierWait, object(BARRIER, b)),
            Act::Clone(a) => (Op::ArcClone, object(ARC, a)),
            Act::Drop(a) => (Op::ArcDrop, object(ARC, a)),
            Act::CountOwners(a) => (Op::ArcCount, object(ARC, a)),
            Act::Upgrade(a) => (Op::WeakUpgrade, object(ARC, a)),
            Act::Unwrap(a) => (Op::ArcTryUnwrap, object(ARC, a)),
            Act::IsFinished(t) => (Op::IsFinished, object(END, t)),
            Act::Begin(o, false) => (Op::ExclusiveBegin, object(CALL, o)),
            Act::Begin(o, true) => (Op::SharedBegin, object(CALL, o)),
            Act::End(o, false) => (Op::ExclusiveEnd, object(CALL, o)),
            Act::End(o, true) => (Op::SharedEnd, object(CALL, o)),
            Act::Idle | Act::UntilIdle => (Op::Start, object(THREAD, task as u32)),
            Act::Choose(_)
            | Act::Pick(_)
            | Act::Rarely
            | Act::Assume
            | Act::SkipUnlessSeen(_)
            | Act::GiveWay
            | Act::Yield => (Op::Draw, ObjectId(99)),
        }
    }

    /// Chooses among the enabled tasks as the engine does. Returns `None` at the end.
    pub fn choose(&mut self, search: &mut dyn Strategy) -> Option<usize> {
        let enabled = (0..self.tasks.len())
            .filter(|&task| self.is_enabled(task))
            .fold(0_u64, |enabled, task| enabled | 1 << task);
        let yields = std::mem::take(&mut self.yields);
        if yields {
            self.trace.yields();
        }
        let own = enabled & 1 << self.current;
        let runs_on = own != 0 && !yields;
        let mut options = std::mem::take(&mut self.options);
        options.clear();
        let (first, last) = if runs_on {
            (own, enabled & !own)
        } else {
            (enabled & !own, own)
        };
        for mut some in [first, last] {
            while some != 0 {
                options.push(TaskId(some.trailing_zeros()));
                some &= some - 1;
            }
        }
        let chosen = self.choose_of(&options, enabled, runs_on, search);
        self.options = options;
        let ends_wait = chosen.is_none();
        let (chosen, decision) = chosen.or_else(|| self.waits_until_idle())?;
        let task = &mut self.tasks[chosen.0 as usize];
        let waker = std::mem::replace(&mut task.waker, TraceStep::NONE);
        self.trace.begin(chosen, decision, waker, task.retries);
        task.retries = false;
        if ends_wait {
            self.trace.ends_idle_wait();
        }
        self.current = chosen.0 as usize;
        Some(self.current)
    }

    /// The first task that waits until no other task can run.
    fn waits_until_idle(&self) -> Option<(TaskId, u32)> {
        let mut tasks = 0..self.tasks.len();
        let waits = |&task: &usize| {
            let is_ready = self.tasks[task].state == State::Ready;
            is_ready && self.next(task) == Some(Act::UntilIdle)
        };
        let task = tasks.find(waits)?;
        Some((TaskId(task as u32), TraceStep::NONE))
    }

    /// Chooses one of the options. Returns the task and the index of the decision.
    fn choose_of(
        &mut self,
        options: &[TaskId],
        enabled: u64,
        runs_on: bool,
        search: &mut dyn Strategy,
    ) -> Option<(TaskId, u32)> {
        match options.len() {
            0 => None,
            1 => Some((options[0], TraceStep::NONE)),
            count => {
                let place = mix(enabled, self.current as u64);
                self.prefix = mix(self.prefix, place);
                let free = if runs_on { 1 } else { count };
                let point = SchedulingPoint {
                    index: self.decisions.len() as u32,
                    options,
                    free: free as u32,
                    may_overstay: false,
                    prefix: self.prefix,
                    step: self.trace.steps.len() as u32,
                    event: 0,
                    pending: &|task| self.pending(task.0 as usize),
                    past: past(&self.trace),
                };
                let choice = search.choose_task(&point);
                self.preemptions += u32::from(choice >= free);
                let decision = self.decisions.len() as u32;
                self.decisions.push(Decision::Task(options[choice]));
                self.prefix = mix(self.prefix, 77 + u64::from(options[choice].0));
                Some((options[choice], decision))
            }
        }
    }

    fn outcome(&mut self, outcomes: u32, search: &mut dyn Strategy) -> u32 {
        self.outcome_of(outcomes, Outcomes::Free, search)
    }

    fn outcome_of(&mut self, outcomes: u32, kind: Outcomes<'_>, search: &mut dyn Strategy) -> u32 {
        if outcomes < 2 {
            return 0;
        }
        self.prefix = mix(self.prefix, 1000 + u64::from(outcomes));
        let outcome = search.choose_outcome(&ChoicePoint {
            index: self.decisions.len() as u32,
            outcomes,
            kind,
            event: 0,
            prefix: self.prefix,
            past: past(&self.trace),
        });
        match kind {
            Outcomes::Free => {}
            Outcomes::Data => self.data += u64::from(outcome),
            _ => self.preemptions += u32::from(outcome != 0),
        }
        self.decisions.push(Decision::Outcome(outcome));
        self.prefix = mix(self.prefix, u64::from(outcome));
        outcome
    }

    /// Traces the next operations of the tasks that are blocked for ever.
    pub fn trace_pending(&mut self) {
        for task in 0..self.tasks.len() {
            let waits = match (self.tasks[task].relocks, self.next(task)) {
                (Some(m), _) if self.tasks[task].state == State::Ready => {
                    Some((object(LOCK, m), Effect::Acquire))
                }
                (None, Some(Act::Lock(m))) => Some((object(LOCK, m), Effect::Acquire)),
                (None, Some(Act::Read(m))) => Some((object(LOCK, m), Effect::Enter)),
                (None, Some(Act::Recv(c) | Act::Send(c))) => {
                    Some((object(CHANNEL, c), Effect::Write))
                }
                (None, Some(Act::Init(o) | Act::InitSet(o) | Act::InitWait(o))) => {
                    Some((object(ONCE, o), Effect::Write))
                }
                (None, Some(Act::Barrier(b))) => Some((object(BARRIER, b), Effect::Write)),
                _ => None,
            };
            if let Some((object, effect)) = waits {
                self.trace.pend(TaskId(task as u32), object, effect);
            }
            if let Some(Act::Await(v, w)) = self.next(task) {
                for &value in &[v, w][..self.tasks[task].watches] {
                    let (task, object) = (TaskId(task as u32), object(VALUE, value));
                    self.trace.pend(task, object, Effect::Read);
                }
            }
        }
    }

    /// The end of the execution.
    pub fn end(&self) -> Final {
        Final {
            values: self.values,
            seen: self.tasks.iter().map(|task| task.seen).collect(),
            at: self.tasks.iter().map(|task| task.at).collect(),
        }
    }
}
