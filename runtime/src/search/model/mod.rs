//! Small concurrent programs without fibers, to check searches against brute force.

mod brute_force;
mod machine;
mod random_program;
mod shrink;

pub(super) use brute_force::{Exhaustive, Explored, explore, explore_all};
pub(super) use random_program::{random_program, seeds};
pub(super) use shrink::shrink;

use self::machine::{Machine, past};
use super::races::HappensBefore;
use super::{Ended, Strategy};
use crate::execution::Effect;

/// What a task of a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Nothing that others see, as a task's first step.
    Idle,
    Load(u32),
    Store(u32, u64),
    Add(u32),
    /// Sets it to the second number if it is the first.
    Exchange(u32, u64, u64),
    /// Sets it whatever it is; whether others learn by it what the task did before.
    Swap(u32, u64, bool),
    Lock(u32),
    TryLock(u32),
    Unlock(u32),
    Read(u32),
    TryRead(u32),
    /// Makes the lock, if the task has it alone, one that it reads.
    Downgrade(u32),
    EndRead(u32),
    /// Waits on the condition variable, with the mutex.
    Wait(u32, u32),
    NotifyOne(u32),
    NotifyAll(u32),
    /// Waits while the channel is full; from [`BOUNDED`] on they hold one message.
    Send(u32),
    TrySend(u32),
    Recv(u32),
    TryRecv(u32),
    Unpark(u32),
    Park,
    /// Initialises what is not initialised yet, up to `InitEnd`; waits while another does.
    Init(u32),
    InitEnd(u32),
    /// Initialises at once, unless another has done so; waits while another does.
    InitSet(u32),
    InitGet(u32),
    /// Waits until it is initialised.
    InitWait(u32),
    /// Waits until two tasks have come.
    Barrier(u32),
    /// One more owner, if the task is one; at first each task is.
    Clone(u32),
    /// One owner less, if the task is one.
    Drop(u32),
    CountOwners(u32),
    /// One more owner, if there is any.
    Upgrade(u32),
    /// Takes what is owned, if the task is its only owner.
    Unwrap(u32),
    /// Whether the task has ended.
    IsFinished(u32),
    /// An outcome of so many, all for free.
    Choose(u32),
    /// Switching away is free afterwards.
    GiveWay,
    /// The same, unless the task has done nothing since it yielded last: then nothing.
    Yield,
    /// Loads the value, so often at most, and yields each time that it is 0.
    Spin(u32, u32),
    /// Loads both values again and again until neither is 0, as an await.
    Await(u32, u32),
    /// Skips so many acts if what was last seen was 0.
    SkipUnlessSeen(usize),
}

pub(super) type Program = Vec<Vec<Act>>;

/// How many objects there are of each kind.
const OBJECTS: usize = 4;
/// The first of the channels that hold one message; the others hold any number.
pub(super) const BOUNDED: u32 = 2;

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Final {
    values: [u64; OBJECTS],
    seen: Vec<u64>,
    /// Where each task is: before the end in a deadlock.
    at: Vec<usize>,
}

impl Final {
    pub(super) fn values(&self) -> &[u64] {
        &self.values
    }
}

/// Names a happens-before graph: for each step a byte for its task, and one for each task
/// with how many of its steps happened before. The order is not that of the execution.
/// Steps that touch nothing are left out. That a task comes to wait for readers to leave
/// shows in what comes of it; where attempts to read fail for that, so does what failed: it makes
/// no difference whether they do so before it has the lock or after that.
pub(super) type Graph = Vec<u64>;

/// What one execution shows.
pub(super) struct Outcome {
    pub(super) end: Final,
    pub(super) graph: Graph,
    pub(super) preemptions: u32,
}

/// Runs `program` once under `search`, which has begun.
pub(super) fn execute(program: &Program, search: &mut dyn Strategy) -> Outcome {
    let mut machine = Machine::new(program);
    run(&mut machine, search);
    Outcome {
        end: machine.end(),
        graph: graph(&mut HappensBefore::new(false), &machine),
        preemptions: machine.preemptions,
    }
}

/// Runs the program of `machine` from its beginning to its end.
fn run(machine: &mut Machine<'_>, search: &mut dyn Strategy) {
    follow(machine, search);
    assert!(!search.diverged(), "{machine:?}");
    end(machine, search, false);
}

/// The same, where the program may be another one than it was before: whether the
/// execution left what was prescribed.
pub(super) fn execute_unsteady(program: &Program, search: &mut dyn Strategy) -> bool {
    let mut machine = Machine::new(program);
    follow(&mut machine, search);
    let diverged = search.diverged();
    end(&machine, search, diverged);
    diverged
}

fn follow(machine: &mut Machine<'_>, search: &mut dyn Strategy) {
    machine.begin();
    while machine.choose(search).is_some() {
        machine.step(search);
    }
    machine.trace_pending();
}

fn end(machine: &Machine<'_>, search: &mut dyn Strategy, diverged: bool) {
    search.spent(1);
    search.end(&Ended {
        past: past(&machine.trace),
        is_new: true,
        is_cut: false,
        diverged,
    });
}

/// The graph of the execution that `machine` has run.
fn graph(happens_before: &mut HappensBefore, machine: &Machine<'_>) -> Graph {
    let mut trace = machine.trace.without(Effect::Queue);
    if trace.tries_to_read {
        trace = trace.without(Effect::Fail);
    }
    let trace = &trace;
    happens_before.read(trace);
    let speaks = |at: &usize| !trace.touches_of(*at).is_empty();
    let visible: Vec<usize> = (0..trace.steps.len()).filter(speaks).collect();
    let task = |at: usize| trace.steps[at].task.0;
    let mut graph = Graph::with_capacity(visible.len());
    for (place, &later) in visible.iter().enumerate() {
        let before = visible[..=place]
            .iter()
            .filter(|&&earlier| happens_before.precedes(earlier as u32, later as u32));
        let counts: u64 = before.map(|&earlier| 1 << (8 * (1 + task(earlier)))).sum();
        graph.push(u64::from(task(later)) | counts);
    }
    graph.sort_unstable();
    graph
}
