//! The calls in progress of the methods that `[[exclusive]]` in Chess.toml selects, in one
//! execution.

use super::TaskId;
use super::terms::{Mode, Site};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

/// A call in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectCall {
    pub(crate) task: TaskId,
    pub(super) object: ObjectId,
    pub(super) mode: Mode,
    /// The number of the call among all such calls that began in this execution, from 1.
    pub(crate) number: u32,
    pub(crate) method: &'static str,
    /// The line at which the method begins.
    pub(crate) site: Site,
}

impl ObjectCall {
    /// Whether both are calls of one object by different tasks, and not both shared.
    fn excludes(&self, other: &Self) -> bool {
        self.object == other.object
            && self.task != other.task
            && !(self.mode == Mode::Shared && other.mode == Mode::Shared)
    }
}

/// Two calls that exclude each other and were in progress at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlap {
    /// The type of the object.
    pub(crate) of: &'static str,
    /// The call that began first, and the other one.
    pub(crate) calls: [ObjectCall; 2],
}

/// The calls of the running execution.
pub(crate) struct ObjectCalls {
    in_progress: EngineVec<ObjectCall>,
    /// The number of calls that have begun.
    pub(crate) begun: u32,
    /// The first two calls that overlapped although they exclude each other.
    pub(crate) overlap: Option<Overlap>,
}

impl ObjectCalls {
    pub(super) const fn new() -> Self {
        Self {
            in_progress: engine_vec(),
            begun: 0,
            overlap: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.in_progress.clear();
        self.begun = 0;
        self.overlap = None;
    }

    /// Whether `task` is in a call of `object` that excludes at least as much as a new call of
    /// this mode.
    pub(super) fn covers(&self, task: TaskId, object: ObjectId, mode: Mode) -> bool {
        self.in_progress.iter().any(|call| {
            (call.task, call.object) == (task, object)
                && (call.mode == Mode::Exclusive || mode == Mode::Shared)
        })
    }

    /// Adds `call`, a call of an object of the type `of`. If a call in progress excludes it,
    /// records the overlap instead, and returns `false`.
    pub(super) fn add(&mut self, of: &'static str, call: ObjectCall) -> bool {
        let other = self.in_progress.iter().find(|it| it.excludes(&call));
        if let Some(&other) = other {
            let calls = [other, call];
            self.overlap = self.overlap.or(Some(Overlap { of, calls }));
            return false;
        }
        self.in_progress.push(call);
        true
    }

    /// Removes the newest call of `task` with this object and mode.
    pub(super) fn remove(&mut self, task: TaskId, object: ObjectId, mode: Mode) {
        let mut calls = self.in_progress.iter();
        let newest = calls.rposition(|it| (it.task, it.object, it.mode) == (task, object, mode));
        if let Some(place) = newest {
            self.in_progress.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    fn call(task: u32, object: u32, mode: Mode) -> ObjectCall {
        ObjectCall {
            task: TaskId(task),
            object: ObjectId(object),
            mode,
            number: 1,
            method: "push",
            site: Location::caller(),
        }
    }

    const MODES: [Mode; 2] = [Mode::Exclusive, Mode::Shared];

    #[test]
    fn calls_exclude_each_other_unless_both_are_shared_or_of_one_task_or_of_two_objects() {
        for (first, second) in MODES
            .into_iter()
            .flat_map(|it| MODES.map(|other| (it, other)))
        {
            let mut calls = ObjectCalls::new();
            assert!(calls.add("Ring", call(0, 1, first)));
            assert!(calls.add("Ring", call(1, 2, second)), "another object");
            assert!(calls.add("Ring", call(0, 1, second)), "the same task");
            let are_shared = first == Mode::Shared && second == Mode::Shared;
            assert_eq!(calls.add("Ring", call(2, 1, second)), are_shared);
            assert_eq!(calls.overlap.is_some(), !are_shared);
        }
    }

    #[test]
    fn a_call_that_has_ended_excludes_nothing() {
        let mut calls = ObjectCalls::new();
        assert!(calls.add("Ring", call(0, 1, Mode::Shared)));
        assert!(calls.add("Ring", call(0, 1, Mode::Exclusive)));
        calls.remove(TaskId(0), ObjectId(1), Mode::Exclusive);
        assert!(calls.add("Ring", call(1, 1, Mode::Shared)));
        calls.remove(TaskId(0), ObjectId(1), Mode::Shared);
        calls.remove(TaskId(1), ObjectId(1), Mode::Shared);
        assert!(calls.add("Ring", call(2, 1, Mode::Exclusive)));
        assert!(calls.overlap.is_none());
    }

    #[test]
    fn a_call_within_one_that_excludes_as_much_adds_nothing() {
        for (outer, inner) in MODES
            .into_iter()
            .flat_map(|it| MODES.map(|other| (it, other)))
        {
            let mut calls = ObjectCalls::new();
            assert!(calls.add("Ring", call(0, 1, outer)));
            let covers = outer == Mode::Exclusive || inner == Mode::Shared;
            assert_eq!(calls.covers(TaskId(0), ObjectId(1), inner), covers);
            assert!(!calls.covers(TaskId(1), ObjectId(1), inner));
            assert!(!calls.covers(TaskId(0), ObjectId(2), inner));
        }
    }
}
