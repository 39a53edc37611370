//! Profile of a program from earlier executions: the objects on which its tasks race, the number
//! of accesses of each task to each of these objects, and the parent of each task.

use super::Past;
use super::races::HappensBefore;
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{Codec, codec};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::rng::Rng;
use crate::{ObjectId, Trace, TraceStep};
use chess_vocabulary::{Dependence, Effect, TaskId};

/// The profile is computed from the first `EARLY` executions, and from every `EARLY`-th execution
/// after them.
const EARLY: u32 = 32;

/// The largest number of accesses of a task to an object in one execution. A step counts as one
/// access, to the object that it touches first.
#[derive(Clone, Copy)]
struct Count {
    object: usize,
    task: u32,
    steps: u32,
}

codec!(Count {
    object,
    task,
    steps
});

/// The steps that are interesting in the current execution.
#[derive(Clone, Copy)]
enum Interest {
    Nothing,
    /// The accesses to one object.
    One(usize),
    /// The accesses to all objects on which tasks race.
    All,
}

/// The profile of a program.
pub(super) struct Profile {
    happens_before: HappensBefore,
    executions: u32,
    /// The names of the objects on which tasks race, sorted.
    objects: EngineVec<usize>,
    /// Sorted by object, then by task.
    counts: EngineVec<Count>,
    /// The parent of each task.
    parents: EngineVec<Option<TaskId>>,
    interest: Interest,
    /// The number of interesting steps that each task and its descendants are expected to take.
    expected: EngineVec<u32>,
    /// The number of steps of each task on each object in the current trace: a matrix of objects
    /// by tasks.
    steps: EngineVec<u32>,
    /// For each object of the current trace, the task that touched it first.
    first: EngineVec<Option<TaskId>>,
}

impl Codec for Profile {
    fn write(&self, out: &mut Checkpoint) {
        self.executions.write(out);
        self.objects.write(out);
        self.counts.write(out);
        self.parents.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(Self {
            executions: Codec::read(input)?,
            objects: Codec::read(input)?,
            counts: Codec::read(input)?,
            parents: Codec::read(input)?,
            ..Self::new()
        })
    }
}

impl Profile {
    pub(super) const fn new() -> Self {
        Self {
            happens_before: HappensBefore::new(false),
            executions: 0,
            objects: engine_vec(),
            counts: engine_vec(),
            parents: engine_vec(),
            interest: Interest::Nothing,
            expected: engine_vec(),
            steps: engine_vec(),
            first: engine_vec(),
        }
    }

    /// Draws the interesting steps of the next execution: those of one object, or of all objects.
    pub(super) fn select(&mut self, rng: &mut Rng) {
        self.interest = match self.objects.len() {
            0 => Interest::Nothing,
            1 => Interest::One(self.objects[0]),
            many => {
                let drawn = rng.below(many as u64 + 1) as usize;
                self.objects
                    .get(drawn)
                    .map_or(Interest::All, |&object| Interest::One(object))
            }
        };
        self.expected.clear();
        self.expected.resize(self.parents.len(), 0);
        for at in 0..self.counts.len() {
            let Count {
                object,
                task,
                steps,
            } = self.counts[at];
            if self.is_of_interest(object) {
                self.expected[task as usize] += steps;
            }
        }
        // A task has a larger number than its parent.
        for task in (0..self.parents.len()).rev() {
            if let Some(parent) = self.parents[task] {
                self.expected[parent.0 as usize] += self.expected[task];
            }
        }
    }

    /// Whether an access to the object of this name is interesting.
    #[inline]
    pub(super) fn is_of_interest(&self, object: usize) -> bool {
        match self.interest {
            Interest::Nothing => false,
            Interest::One(one) => object == one,
            Interest::All => self.objects.binary_search(&object).is_ok(),
        }
    }

    /// The number of interesting steps (see [`Interest`]) that the task with this number and its
    /// descendants are expected to perform. It is 0 for a task that the profile does not have.
    pub(super) fn expected(&self, task: usize) -> u32 {
        self.expected.get(task).copied().unwrap_or(0)
    }

    /// The parent of `task`.
    pub(super) fn parent(&self, task: TaskId) -> Option<TaskId> {
        self.parents.get(task.0 as usize).copied().flatten()
    }

    /// Adds an execution to the profile. After many executions, most of them are left out: see
    /// [`EARLY`].
    pub(super) fn read(&mut self, past: Past<'_>) {
        self.executions += 1;
        if self.executions > EARLY && !self.executions.is_multiple_of(EARLY) {
            return;
        }
        let trace = past.trace;
        let tasks = trace.steps.iter().map(|step| step.task.0 as usize + 1);
        let tasks = tasks.max().unwrap_or(0);
        self.count_steps(trace, tasks);
        self.find_objects(past);
        for object in 0..self.first.len() {
            if self.first[object].is_none() {
                continue;
            }
            let name = (past.name)(ObjectId(object as u32));
            if self.objects.binary_search(&name).is_ok() {
                for task in 0..tasks {
                    let steps = self.steps[object * tasks + task];
                    self.note(name, task as u32, steps);
                }
            }
        }
    }

    /// Counts the steps of each task by object, and finds the parent of each task.
    fn count_steps(&mut self, trace: &Trace, tasks: usize) {
        let objects = trace
            .touches
            .iter()
            .map(|touch| touch.object.0 as usize + 1);
        let objects = objects.max().unwrap_or(0);
        self.steps.clear();
        self.steps.resize(objects * tasks, 0);
        self.first.clear();
        self.first.resize(objects, None);
        let mut known = engine_vec();
        known.resize(tasks, false);
        if self.parents.len() < tasks {
            self.parents.resize(tasks, None);
        }
        for (at, step) in trace.steps.iter().enumerate() {
            let touches = trace.touches_of(at);
            if step.decision == TraceStep::NEVER || touches.is_empty() {
                continue;
            }
            let ObjectId(object) = touches[0].object;
            self.steps[object as usize * tasks + step.task.0 as usize] += 1;
            // In its first step, a new thread acquires the object through which its parent started
            // it.
            let is_new = !core::mem::replace(&mut known[step.task.0 as usize], true);
            if is_new && touches[0].effect == Effect::Acquire {
                let spawner = self.first[object as usize];
                self.parents[step.task.0 as usize] = spawner.filter(|by| by.0 < step.task.0);
            }
            for touch in touches {
                self.first[touch.object.0 as usize].get_or_insert(step.task);
            }
        }
    }

    /// Adds the objects on which the execution's tasks raced.
    fn find_objects(&mut self, past: Past<'_>) {
        self.happens_before.read(past.trace);
        for race in &self.happens_before.races {
            let [first, second] = [race.first, race.second].map(|at| at as usize);
            for one in past.trace.touches_of(first) {
                let mut others = past.trace.touches_of(second).iter();
                let races = others.any(|other| {
                    let relation = other.effect.depends(one.effect);
                    other.object == one.object && relation == Dependence::Races
                });
                if races {
                    let name = (past.name)(one.object);
                    if let Err(place) = self.objects.binary_search(&name) {
                        self.objects.insert(place, name);
                    }
                }
            }
        }
    }

    fn note(&mut self, object: usize, task: u32, steps: u32) {
        let key = (object, task);
        let found = self
            .counts
            .binary_search_by_key(&key, |count| (count.object, count.task));
        match found {
            Ok(place) => {
                let count = &mut self.counts[place].steps;
                *count = steps.max(*count);
            }
            Err(place) if steps > 0 => self.counts.insert(
                place,
                Count {
                    object,
                    task,
                    steps,
                },
            ),
            Err(_) => {}
        }
    }
}
