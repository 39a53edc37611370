//! The names of objects in reports.

use std::collections::BTreeMap;

use crate::execution::{
    Execution, ObjectId, State, descriptor_of_object, is_panic_hook, task_of_object,
};
use crate::platform::streams;

/// Names of objects: a letter for the kind, and a number in the order of first use.
pub(super) struct ObjectNames(BTreeMap<u32, String>);

impl ObjectNames {
    /// The names of an execution's objects so far.
    pub(super) fn of(execution: &Execution) -> Self {
        let mut names = BTreeMap::new();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
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
                if let Some(stream) = streams::name_of(address) {
                    return stream.to_owned();
                }
                if is_panic_hook(address) {
                    return "the panic hook".to_owned();
                }
                if let Some(task) = task_of_object(address) {
                    return format!("task {}", task.0);
                }
                let descriptor = descriptor_of_object(address);
                if let Some((kind, Some(number))) = descriptor {
                    return format!("{kind}{number}");
                }
                let kind = descriptor.map_or_else(|| op.object_kind(), |(kind, _)| kind);
                let count = counts.entry(kind).or_default();
                *count += 1;
                format!("{kind}{count}")
            });
        }
        Self(names)
    }

    /// The name of an object, if it was used.
    pub(super) fn name(&self, object: ObjectId) -> Option<&str> {
        self.0.get(&object.0).map(String::as_str)
    }
}
