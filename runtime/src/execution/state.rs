//! The state of one execution, which all parts of the engine share.

use core::sync::atomic::{AtomicBool, Ordering};

use chess_vocabulary::OutsideEffect;

use super::TaskId;
use super::awaited::Resources;
use super::budget::Budget;
use super::component_set::{Components, Disk, NoDisk};
use super::descriptors::Descriptors;
use super::endless_computation::Endless;
use super::event::EventLog;
use super::exclusive_calls::ObjectCalls;
use super::file_use::FileUse;
use super::free_blocks::AddressReuse;
use super::hot::Liveness;
use super::invariant_set::Invariants;
use super::listener::{Listeners, NoWork, ThreadWork};
use super::object::ObjectTable;
use super::options::Options;
use super::park_token::Tokens;
use super::policy::Policies;
use super::recording::Recording;
use super::schedule::Schedule;
use super::streams::StreamUse;
use super::task::Task;
use super::terms::Site;
use crate::base::memory::{EngineMemory, EngineVec, Place, engine_vec};
use crate::base::rng::Rng;
use crate::base::source_path;
use crate::platform::leftovers;
use crate::platform::observers::Observers;
use crate::search::Strategy;

/// The earliest virtual time at the start of an execution: a moment in 2025, in nanoseconds since
/// 1970.
pub(crate) const START_OF_TIME: u64 = 1_750_000_000 * 1_000_000_000;

/// The reason why an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Every task ended, or the test's body did and the other tasks are idle.
    Finished,
    /// An assumption of the test did not hold, and the other tasks ran to their ends: the execution
    /// has no verdict.
    Assumption,
    /// No task is enabled, and the test's body has not returned.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// The execution was ended past the step limit, but not because it seemed endless.
    TooLong,
    /// A monitor ended the execution, and states the reason.
    Stopped,
    /// This task ran without yielding while other tasks were enabled.
    Spin(TaskId),
    /// A new task needs a donor (a thread that lends it a stack) with a stack of this size, and
    /// none is left.
    NoDonor(usize),
    /// The state of a yielding task may contain remains of earlier executions: the execution must
    /// be repeated in clean memory.
    Unclean,
    /// A task calls this function, which changes the process permanently: each execution needs a
    /// process of its own.
    NeedsProcess(&'static str),
}

/// The state of the running execution.
pub(crate) struct Execution {
    pub(crate) options: Options,
    pub(crate) budget: Budget,
    pub(crate) recording: Recording,
    pub(crate) schedule: Schedule,
    pub(crate) objects: ObjectTable,
    pub(crate) log: EventLog,
    pub(crate) descriptors: Descriptors,
    pub(crate) policies: Policies,
    pub(crate) observers: Observers,
    /// The observers of executions, such as the debugger.
    pub(crate) listeners: Listeners,
    pub(crate) thread_work: &'static dyn ThreadWork,
    pub(crate) disk: &'static dyn Disk,
    pub(super) reuse: AddressReuse,
    pub(crate) streams: StreamUse,
    pub(crate) tokens: Tokens,
    pub(crate) files: FileUse,
    pub(crate) endless: Endless,
    pub(crate) invariants: Invariants,
    pub(crate) liveness: Liveness,
    pub(crate) object_calls: ObjectCalls,
    pub(super) resources: Resources,
    pub(super) components: Components,
    pub(crate) strategy: Option<Box<dyn Strategy, EngineMemory>>,
    /// In some execution, a task began to wait with a deadline while there were other tasks. So an
    /// early timeout was possible.
    pub(crate) could_be_early: bool,
    /// Whether iterations that changed nothing are not repeated: see [`super::waiting_loops`].
    pub(crate) awaits: bool,
    /// The place of an assumption that did not hold.
    pub(crate) unmet_assumption: Option<Site>,
    pub(crate) clock: u64,
    pub(crate) entropy: Rng,
    pub(crate) ending: Ending,
    pub(crate) body_done: bool,
    /// A count of the scheduling points of all executions, which the watchdog observes. The count
    /// includes the steps without a scheduling point within calls into `atomic` code.
    pub(crate) pulse: u64,
    /// Set by the zygote when the time budget is used up.
    pub(crate) out_of_time: AtomicBool,
    /// The address of the invalid memory access that ended the program.
    pub(crate) fault: Option<usize>,
    /// The effects outside control, each once. Effects of inline assembly have their line.
    pub(crate) outside: EngineVec<(OutsideEffect, Option<source_path::Place>)>,
    /// The library whose runtime ran its tasks on the thread that waits for these tasks. Empty if
    /// there was none.
    pub(crate) one_thread_runtime: &'static str,
}

/// The place of the execution in the engine's memory.
pub(crate) const PLACE: Place<Execution> = Place::after(&leftovers::PLACE);

/// A pointer to the execution, in the exploring process and in the processes that share its memory.
/// Tasks use [`super::running()`] instead.
#[inline]
pub(crate) fn execution() -> *mut Execution {
    PLACE.get()
}

impl Execution {
    pub(crate) const fn new() -> Self {
        let options = Options::new();
        Self {
            budget: Budget::new(options.max_steps),
            options,
            recording: Recording::new(),
            schedule: Schedule::new(),
            objects: ObjectTable::new(),
            log: EventLog::new(),
            descriptors: Descriptors::new(),
            policies: Policies::new(),
            observers: Observers::ALL,
            listeners: &[],
            thread_work: &NoWork,
            disk: &NoDisk,
            reuse: AddressReuse::new(),
            streams: StreamUse::new(),
            tokens: Tokens::new(),
            files: FileUse::new(),
            endless: Endless::new(),
            invariants: Invariants::new(),
            liveness: Liveness::new(),
            object_calls: ObjectCalls::new(),
            resources: Resources::new(),
            components: Components::new(),
            strategy: None,
            could_be_early: false,
            awaits: true,
            unmet_assumption: None,
            clock: START_OF_TIME,
            entropy: Rng::new(0),
            ending: Ending::Finished,
            body_done: false,
            pulse: 0,
            out_of_time: AtomicBool::new(false),
            fault: None,
            outside: engine_vec(),
            one_thread_runtime: "",
        }
    }

    /// Resets the state of the last execution, and keeps its memory for the new one.
    pub(crate) fn reset(&mut self) {
        self.budget.begin(self.options.max_steps);
        self.recording.clear();
        self.schedule.clear();
        self.objects.clear();
        self.log.clear();
        self.descriptors.clear();
        self.reuse.clear();
        self.endless.begin();
        self.invariants.clear();
        self.liveness.clear();
        self.object_calls.clear();
        self.resources.clear();
        self.components.clear();
        self.awaits = true;
        self.unmet_assumption = None;
        self.clock = self.options.start;
        self.entropy = Rng::new(0);
        self.ending = Ending::Finished;
        self.body_done = false;
    }

    /// Whether the time budget is used up.
    #[inline]
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Relaxed)
    }

    /// Whether the execution ended as [`Ending::Finished`].
    pub(crate) fn has_finished(&self) -> bool {
        self.ending == Ending::Finished
    }

    /// Makes `task` the running task.
    #[inline]
    pub(crate) fn run(&mut self, task: TaskId) {
        self.schedule.run(task);
    }

    #[inline]
    pub(crate) fn task(&self, task: TaskId) -> &Task {
        &self.schedule.tasks[task.0 as usize]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.schedule.tasks[task.0 as usize]
    }

    #[inline]
    pub(crate) fn running(&mut self) -> &mut Task {
        self.schedule.tasks.running_mut()
    }

    /// The tasks of this execution.
    pub(crate) fn live_tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        (0..)
            .map(TaskId)
            .zip(&self.schedule.tasks[..self.schedule.live])
    }
}
