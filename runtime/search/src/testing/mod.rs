//! Small concurrent programs that run without fibers. Tests run searches on them, and compare the
//! results with those of brute force.

mod brute_force;
mod machine;
mod memory;
mod random_program;
mod shrink;

pub use brute_force::{Executed, Exhaustive, Explored, explore, explore_all, explore_up_to, visit};
pub use machine::Machine;
pub use memory::Memory;
pub use random_program::{
    random_calls, random_choices, random_idle_waits, random_long_steps, random_program,
    random_sections, seeds,
};
pub use shrink::shrink;

use self::machine::past;
use super::races::HappensBefore;
use super::{Ended, Strategy};
use chess_vocabulary::Effect;
use core::sync::atomic::Ordering;

/// An act of a task of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operations of std")]
pub enum Act {
    /// Touches nothing, like the first step of most threads.
    Idle,
    Load(u32),
    /// Loads the first value. If it is 0, also loads the second value, within the same step.
    LoadOneOrBoth(u32, u32),
    Store(u32, u64),
    Add(u32),
    /// Sets the value to the second number if it equals the first number.
    Exchange(u32, u64, u64),
    /// Sets the value unconditionally. The flag states whether the store releases, so that other
    /// tasks can synchronize through it. If it does not release, a swap that leaves the value
    /// unchanged counts as a load.
    Swap(u32, u64, bool),
    Lock(u32),
    TryLock(u32),
    Unlock(u32),
    Read(u32),
    TryRead(u32),
    /// Turns the task's exclusive lock into a shared one.
    Downgrade(u32),
    EndRead(u32),
    /// Waits on the condition variable, with the mutex.
    Wait(u32, u32),
    NotifyOne(u32),
    NotifyAll(u32),
    /// Sends a message. Waits while the channel is full. Channels from number [`BOUNDED`] on hold
    /// one message.
    Send(u32),
    TrySend(u32),
    Recv(u32),
    TryRecv(u32),
    Unpark(u32),
    Park,
    /// Waits while another task initialises the object. Then begins to initialise it, unless it is
    /// initialised. [`Act::InitEnd`] ends the initialisation.
    Init(u32),
    InitEnd(u32),
    /// Waits while another task initialises the object. Then initialises it within this step,
    /// unless it is initialised.
    InitSet(u32),
    InitGet(u32),
    /// Waits until the object is initialised.
    InitWait(u32),
    /// Waits until two tasks have arrived.
    Barrier(u32),
    /// Adds an owner, if the task is an owner. Initially each task is an owner.
    Clone(u32),
    /// Drops an owner, if the task is an owner.
    Drop(u32),
    CountOwners(u32),
    /// Adds an owner, if there is any.
    Upgrade(u32),
    /// Takes the owned value, if the task is the only owner.
    Unwrap(u32),
    /// Checks whether the task has ended.
    IsFinished(u32),
    /// Chooses one of this number of outcomes. No outcome costs anything.
    Choose(u32),
    /// Makes a choice of data among this number of outcomes, within the step of the previous act.
    Pick(u32),
    /// Lets a rare event happen or not, within the step of the previous act.
    Rarely,
    /// An assumption, within the step of the previous act. It does not hold if the last value that
    /// the task has seen is 0. Then the task ends.
    Assume,
    /// Waits until no other task can run.
    UntilIdle,
    /// Yields: the next switch is free.
    GiveWay,
    /// Yields, unless the task has done nothing since its last yield.
    Yield,
    /// Loads the value until it is not 0, but at most this number of times. Yields between the
    /// loads.
    Spin(u32, u32),
    /// Loads both values repeatedly until neither is 0. The loop is treated as an await: the task
    /// waits until one of the values changes.
    Await(u32, u32),
    /// Skips this number of acts if the last value that the task has seen is 0.
    SkipUnlessSeen(usize),
    /// Begins a call of the object. The flag states whether the call is shared. The task sees
    /// whether a call by another task is in progress that must not overlap this call.
    Begin(u32, bool),
    /// Ends the call that [`Act::Begin`] began.
    End(u32, bool),
    /// Accesses the value under the memory model of the machine.
    Atomic(u32, Atomic),
    Fence(Ordering),
}

/// An access to a value under a memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operations of std")]
pub enum Atomic {
    Load(Ordering),
    Store(u64, Ordering),
    Add(u64, Ordering),
    Swap(u64, Ordering),
    /// Sets the value to the second number if it equals the first number. The orderings are those
    /// of its success and of its failure.
    Exchange(u64, u64, Ordering, Ordering),
}

/// The acts of each task.
pub type Program = Vec<Vec<Act>>;

/// The number of objects of each kind.
pub const OBJECTS: usize = 4;
/// The first channel that holds one message. Channels with smaller numbers hold any number of
/// messages.
pub const BOUNDED: u32 = 2;

/// The line of an act of a program: a number that identifies the task and the position of the act.
pub fn line_of(task: usize, at: usize) -> u32 {
    (task * 64 + at) as u32
}

/// The end of an execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Final {
    /// The last value of each object.
    pub values: [u64; OBJECTS],
    /// For each task, the hash of the values that it has seen.
    pub seen: Vec<u64>,
    /// The number of acts that each task has performed. In a deadlock, some tasks have not
    /// performed all their acts.
    pub at: Vec<usize>,
}

/// The hash of the values that a task has seen, after it has also seen `value`. The hash of the
/// earlier values is `before`.
pub fn seen_after(before: u64, value: u64) -> u64 {
    mix(before, value + 1)
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Final {
    /// The last value of each object.
    pub fn values(&self) -> &[u64] {
        &self.values
    }
}

/// A happens-before graph, with one number for each step. The lowest byte of the number is the
/// task of the step. Each other byte is the number of steps of one task that happened before the
/// step. The numbers are sorted, so that they do not depend on the order of the execution.
///
/// Two kinds of steps are left out: those that touch nothing, and those in which a task begins to
/// wait for readers, because only the consequences of the wait count. If attempts to read may fail
/// because of such a wait, failed operations are also left out: it makes no difference whether
/// they fail before the waiting task has acquired the lock or after that.
pub type Graph = Vec<u64>;

/// The results of one execution.
pub struct Outcome {
    /// Its end.
    pub end: Final,
    /// Its happens-before graph.
    pub graph: Graph,
    /// The number of preemptions.
    pub preemptions: u32,
    /// The sum of the choices of data.
    pub data: u64,
}

/// Runs `program` once under `search`. [`Strategy::begin`] must have been called.
pub fn execute(program: &Program, search: &mut dyn Strategy) -> Outcome {
    let mut machine = Machine::new(program);
    run(&mut machine, search);
    Outcome {
        end: machine.end(),
        graph: graph(&mut HappensBefore::new(false), &machine),
        preemptions: machine.preemptions,
        data: machine.data,
    }
}

/// Runs the program of `machine` from its beginning to its end.
pub fn run(machine: &mut Machine<'_>, search: &mut dyn Strategy) {
    follow(machine, search);
    assert!(!search.diverged(), "{machine:?}");
    end(machine, search, false);
}

/// Runs a program once as [`execute`] does, but the program may differ from the program of earlier
/// executions. Returns whether the execution left its prescribed prefix.
pub fn execute_nondeterministic(program: &Program, search: &mut dyn Strategy) -> bool {
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
    let is_visible = |at: &usize| !trace.touches_of(*at).is_empty();
    let visible: Vec<usize> = (0..trace.steps.len()).filter(is_visible).collect();
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
