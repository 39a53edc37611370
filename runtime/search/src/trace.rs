//! The trace of an execution: its steps and their accesses, for searches that reason about
//! dependences.
//!
//! A step is the part of a task from one scheduling point to the task's next one. Two steps of
//! different tasks depend on each other if they touch one object in ways that do not commute, or if
//! one wakes the task of the other.

use chess_vocabulary::{Effect, TaskId};

use crate::base::memory::{EngineVec, engine_vec};

/// Identifies an object within one execution: its position in the order of first use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The object of an event without an object.
    pub const NONE: Self = Self(u32::MAX);
}

/// One step of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct TraceStep {
    /// Its task.
    pub task: TaskId,
    /// The decision that chose the task; [`TraceStep::NONE`] if there was no choice.
    pub decision: u32,
    /// The index of its first access.
    pub accesses: u32,
    /// The step that woke the task; [`TraceStep::NONE`] if the task did not wait to be woken.
    pub waker: u32,
    /// The task waited at an object, and checks the object again in this step. So the accesses to
    /// this object show the whole dependence on the step that woke the task.
    pub retries: bool,
    /// The step has more than one operation. The later ones may depend on the result of the first.
    pub has_several_operations: bool,
    /// The task yielded at the end of the step, so that a switch to another task was free there.
    pub yields: bool,
    /// The task waited for the end of tasks.
    pub joins: bool,
    /// The task checked whether the objects that it had read in this iteration of a loop have
    /// changed. It did so only because of the values that it read last.
    pub awaits: bool,
    /// The task waited with a deadline: it could have continued earlier, no matter which task woke
    /// it.
    pub timed: bool,
    /// The step began only because no task was enabled, so that time passed. All earlier steps of
    /// the execution come before it.
    pub comes_last: bool,
    /// [`Trace::numbering`] at the start of the step.
    pub numbering: u64,
}

impl TraceStep {
    /// The index of a missing decision or step.
    pub const NONE: u32 = u32::MAX;
    /// The [`decision`](Self::decision) of a step that was still blocked at the end of the
    /// execution.
    pub const NEVER: u32 = u32::MAX - 1;
}

/// An access of a step to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The object.
    pub object: ObjectId,
    /// The effect that the access had.
    pub effect: Effect,
    /// The effect that the access could have in another state of the object.
    pub could: Effect,
}

/// The tasks of which each step may touch an object without an event.
#[derive(Clone, Copy)]
struct Unseen {
    /// A bit for each of 64 groups of tasks. If one task of a group may touch the object, all
    /// tasks of the group count: a superfluous dependence costs schedules, but hides none.
    tasks: u64,
    object: ObjectId,
}

impl Unseen {
    const NONE: Self = Self {
        tasks: 0,
        object: ObjectId::NONE,
    };

    fn bit(task: TaskId) -> u64 {
        1 << (task.0 % u64::BITS)
    }
}

/// The steps of one execution, up to the step limit.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Trace {
    /// Whether a strategy reads the trace. If not, no steps are kept.
    pub is_wanted: bool,
    /// Whether the current steps are kept.
    keeps: bool,
    /// An event happened whose dependences are not traced: fairness held a task back, or time
    /// passed for a wait that is not traced.
    pub is_irregular: bool,
    /// Time could pass while tasks were enabled.
    pub has_timers: bool,
    /// A task yielded.
    pub(crate) has_yields: bool,
    /// A hash of the objects so far, in the order of their numbers. Two executions with the same
    /// decisions may number their objects differently. For example, a file has other contents than
    /// before, so that the first task uses other objects before it spawns a task. Until then it has
    /// no scheduling points.
    pub numbering: u64,
    unseen: Unseen,
    /// A task tried to read a lock. The result may have revealed that other tasks wait for the
    /// readers to leave.
    pub tries_to_read: bool,
    /// The steps in which an idle wait ended: a wait until no other task could run.
    idle_ends: EngineVec<u32>,
    /// The steps in their order.
    pub steps: EngineVec<TraceStep>,
    /// The accesses of all steps in their order.
    pub touches: EngineVec<Touch>,
}

impl Trace {
    /// An empty trace that keeps no steps.
    pub const fn new() -> Self {
        Self {
            is_wanted: false,
            keeps: false,
            is_irregular: false,
            has_timers: false,
            has_yields: false,
            numbering: 0,
            unseen: Unseen::NONE,
            tries_to_read: false,
            idle_ends: engine_vec(),
            steps: engine_vec(),
            touches: engine_vec(),
        }
    }

    /// Begins the trace of a new execution.
    #[inline]
    pub fn clear(&mut self) {
        self.keeps = self.is_wanted;
        self.is_irregular = false;
        self.has_timers = false;
        self.has_yields = false;
        self.numbering = 0;
        self.unseen = Unseen::NONE;
        self.tries_to_read = false;
        self.idle_ends.clear();
        self.steps.clear();
        self.touches.clear();
    }

    /// Records that the running step touches `object`.
    #[inline]
    pub fn access(&mut self, object: ObjectId, effect: Effect, could: Effect) {
        if self.keeps {
            self.touches.push(Touch {
                object,
                effect,
                could,
            });
        }
    }

    /// Records that `task` begins a step.
    #[inline]
    pub fn begin(&mut self, task: TaskId, decision: u32, waker: u32, retries: bool) {
        if self.keeps {
            self.steps.push(TraceStep {
                task,
                decision,
                accesses: self.touches.len() as u32,
                waker,
                retries,
                has_several_operations: false,
                yields: false,
                joins: false,
                awaits: false,
                timed: false,
                comes_last: false,
                numbering: self.numbering,
            });
            if self.unseen.tasks & Unseen::bit(task) != 0 {
                self.access(self.unseen.object, Effect::Write, Effect::Write);
            }
        }
    }

    /// Records that, from its next step on, each step of `task` may touch `object` without an
    /// event.
    pub fn touches_unseen(&mut self, task: TaskId, object: ObjectId) {
        self.unseen.tasks |= Unseen::bit(task);
        self.unseen.object = object;
    }

    /// Records that the running step continues with one more operation.
    #[inline]
    pub fn continue_step(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.has_several_operations = true;
        }
    }

    /// Records that the running step checks earlier reads for changes.
    pub fn awaits(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.awaits = true;
        }
    }

    /// Records that the task of the running step waited for the end of tasks.
    #[inline]
    pub fn joins(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.joins = true;
        }
    }

    /// Records that the task of the running step waited with a deadline.
    pub fn timed(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.timed = true;
        }
    }

    /// Records that no task was enabled when the running step began.
    pub fn comes_last(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.comes_last = true;
        }
    }

    /// Records that the running step ends an idle wait: its task waited until no other task could
    /// run. All earlier steps come before it, and none of them can be reversed with it.
    pub fn ends_idle_wait(&mut self) {
        self.timed();
        self.comes_last();
        if self.keeps {
            self.idle_ends.push(self.step());
        }
    }

    /// Whether an idle wait has ended since the last step of `task`, and `object` was touched
    /// after this end in a way that does not commute with `effect`.
    fn hides(&self, task: TaskId, object: ObjectId, effect: Effect) -> bool {
        if self.idle_ends.is_empty() {
            return false;
        }
        let last = self.steps.iter().rposition(|step| step.task == task);
        let mut ends = self.idle_ends.iter().map(|&end| end as usize);
        let Some(end) = ends.find(|&end| last.is_none_or(|last| last < end)) else {
            return false;
        };
        let mut since = self.touches[self.steps[end].accesses as usize..].iter();
        since.any(|touch| touch.object == object && !touch.could.commutes(effect))
    }

    /// Records that the running step ends with a yield.
    #[inline]
    pub fn yields(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.yields = true;
            self.has_yields = true;
        }
    }

    /// Records that the execution ends while `task` is still blocked in an operation on `object`.
    /// The operation becomes a step of its own, so that it races with the step that keeps the task
    /// blocked.
    pub fn pend(&mut self, task: TaskId, object: ObjectId, effect: Effect) {
        // If the task has not run since the end of an idle wait, a step before this end may keep
        // the task blocked. A later access to the object may hide the race with that step. In
        // random programs with locks, channels and initialised values this never happens. Whether
        // it happens with other objects, such as file descriptors, is unknown.
        self.is_irregular |= self.hides(task, object, effect);
        self.begin(task, TraceStep::NEVER, TraceStep::NONE, false);
        self.access(object, effect, effect);
    }

    /// Whether the current steps are kept.
    pub fn is_kept(&self) -> bool {
        self.keeps
    }

    /// Stops keeping steps and accesses.
    pub fn end(&mut self) {
        self.keeps = false;
    }

    /// The number of the running step.
    #[inline]
    pub fn step(&self) -> u32 {
        (self.steps.len() as u32).wrapping_sub(1)
    }

    /// A copy of the trace without the accesses that have this effect.
    #[cfg(any(test, feature = "testing"))]
    pub fn without(&self, effect: Effect) -> Self {
        let mut rest = Self::new();
        rest.tries_to_read = self.tries_to_read;
        for (at, step) in self.steps.iter().enumerate() {
            let accesses = rest.touches.len() as u32;
            rest.steps.push(TraceStep { accesses, ..*step });
            let touches = self.touches_of(at).iter();
            rest.touches
                .extend(touches.filter(|touch| touch.effect != effect));
        }
        rest
    }

    /// The accesses of the step with the index `step`.
    pub(crate) fn touches_of(&self, step: usize) -> &[Touch] {
        let end = self.steps.get(step + 1);
        let end = end.map_or(self.touches.len(), |next| next.accesses as usize);
        &self.touches[self.steps[step].accesses as usize..end]
    }
}
