//! The names of objects in reports.

use std::collections::BTreeMap;

use chess_vocabulary::{Object, ObjectKind};

use crate::execution::{
    Execution, ObjectId, Op, State, descriptor_of_object, is_panic_hook, task_of_object,
};
use crate::platform::streams;

/// Names of objects: their kind, and a number in the order of first use.
pub(super) struct ObjectNames(BTreeMap<u32, Object>);

impl ObjectNames {
    /// The names of an execution's objects so far.
    pub(super) fn of(execution: &Execution) -> Self {
        let mut names = BTreeMap::new();
        let mut counts: BTreeMap<ObjectKind, u32> = BTreeMap::new();
        let uses = execution
            .log
            .events
            .iter()
            .map(|event| (event.object, event.op));
        // The object that a task waits for may not have been used before.
        let waits = execution
            .live_tasks()
            .filter(|(_, task)| matches!(task.state, State::Blocked(_)))
            .map(|(_, task)| (task.object, task.op));
        for (object, op) in uses
            .chain(waits)
            .filter(|(object, _)| *object != ObjectId::NONE)
        {
            names.entry(object.0).or_insert_with(|| {
                let address = execution.objects.get(object).address;
                let (kind, number) = kind_and_number(address, op);
                let number = number.unwrap_or_else(|| {
                    let count = counts.entry(kind).or_default();
                    *count += 1;
                    *count
                });
                Object { kind, number }
            });
        }
        Self(names)
    }

    /// The name of an object, if it was used.
    pub(super) fn name(&self, object: ObjectId) -> Option<Object> {
        self.0.get(&object.0).copied()
    }
}

/// The kind of the object at `address`, whose first operation is `op`, and its number. The number
/// is `None` if objects of this kind are numbered in the order of their first use.
pub(super) fn kind_and_number(address: usize, op: Op) -> (ObjectKind, Option<u32>) {
    if let Some(stream) = streams::kind_of(address) {
        return (stream, Some(0));
    }
    if is_panic_hook(address) {
        return (ObjectKind::PanicHook, Some(0));
    }
    if let Some(task) = task_of_object(address) {
        return (ObjectKind::Task, Some(task.0));
    }
    descriptor_of_object(address).unwrap_or_else(|| (op.object_kind(), None))
}
