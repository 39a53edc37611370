//! Gives the same name to the same object in two executions. The executions are the same up to a
//! step.

use std::collections::{HashMap, HashSet};

use chess_vocabulary::{ObjectKind, Op};

use crate::protocol::{Blocked, Finished, Object, Step};

/// An event, identified by its task, its operation, its source file, line and column, and its
/// number among the events that are equal in all of these. The task is `None` if the events of all
/// tasks are counted together.
type Moment<'a> = (
    Option<u32>,
    Op,
    Option<&'a str>,
    Option<u32>,
    Option<u32>,
    usize,
);

/// An object of one execution.
type Id = (ObjectKind, u32);

/// Gives each object of `passing` the number that the same object has in `failing`.
///
/// Up to the first difference of the two executions, objects with equal numbers are the same. After
/// it, an object of `passing` is the same as an object of `failing` of its kind if both are used in
/// the same [`Moment`], and neither has a partner yet. The first pass counts the operations of each
/// task separately. The second pass counts those of all tasks together. An object without a partner
/// gets a number that no object of its kind has in `failing`. Tasks, and objects of a kind with a
/// single object, keep their numbers.
pub(crate) fn align(failing: &Finished, passing: &mut Finished) {
    let waits = failing.blocked.iter().map(Blocked::to_step);
    let failing: Vec<Step> = failing.events.iter().cloned().chain(waits).collect();
    let id = |step: &Step| step.object.as_ref().map(Object::id);
    let same = |(a, b): &(&Step, &Step)| {
        (a.task, a.op, id(a)) == (b.task, b.op, id(b)) && a.location() == b.location()
    };
    let pairs = failing.iter().zip(&passing.events);
    let parted = pairs.take_while(same).count();
    let mut ids: HashMap<Id, Id> = numbered(&failing[..parted]).map(|id| (id, id)).collect();
    let mut taken: HashSet<Id> = numbered(&failing[..parted]).collect();
    for of_task in [true, false] {
        let of_failing: HashMap<Moment<'_>, Id> = moments(&failing[parted..], of_task).collect();
        for (moment, object) in moments(&passing.events[parted..], of_task) {
            let met = of_failing.get(&moment).copied();
            let met = met.filter(|id| id.0 == object.0 && !taken.contains(id));
            if let Some(id) = met.filter(|_| !ids.contains_key(&object)) {
                taken.insert(id);
                ids.insert(object, id);
            }
        }
    }
    let mut next: HashMap<ObjectKind, u32> = HashMap::new();
    for (kind, number) in numbered(&failing) {
        let next = next.entry(kind).or_default();
        *next = (*next).max(number);
    }
    for object in numbered(&passing.events) {
        ids.entry(object).or_insert_with(|| {
            let next = next.entry(object.0).or_default();
            *next += 1;
            (object.0, *next)
        });
    }
    for event in &mut passing.events {
        for object in [&mut event.object, &mut event.gives].into_iter().flatten() {
            if let Some(&(kind, number)) = ids.get(&object.id()) {
                *object = Object::new(kind, number);
            }
        }
    }
}

/// The object of each event in `events`. An event is left out if it has no object, or an object
/// that keeps its number: a task, or an object of a kind with a single object.
fn numbered(events: &[Step]) -> impl Iterator<Item = Id> {
    events.iter().filter_map(number)
}

fn number(event: &Step) -> Option<Id> {
    let object = event.object.as_ref()?;
    let has_own = object.kind == ObjectKind::Task || object.kind.is_single();
    (!has_own).then(|| object.id())
}

/// For each event that has an object with a number: its [`Moment`] and the object. A moment
/// contains the number of times that the operation was performed at its place so far. If `of_task`
/// is true, the operations of each task are counted separately.
fn moments(events: &[Step], of_task: bool) -> impl Iterator<Item = (Moment<'_>, Id)> {
    let mut times = HashMap::new();
    let moments = events.iter().map(move |event| {
        let task = of_task.then_some(event.task);
        let place = (event.file.as_deref(), event.line, event.column);
        let time = times.entry((task, event.op, place)).or_insert(0);
        *time += 1;
        let moment = (task, event.op, place.0, place.1, place.2, *time);
        (moment, number(event))
    });
    moments.filter_map(|(moment, object)| Some((moment, object?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Outcome;
    use crate::protocol::{op_named, step};

    fn execution(events: &[(u32, &str, &str, u32)]) -> Finished {
        let events = events.iter().map(|&(task, op, object, line)| Step {
            object: Some(object.into()),
            file: Some("src/lib.rs".into()),
            line: Some(line),
            column: Some(1),
            ..step(task, op_named(op))
        });
        Finished {
            events: events.collect(),
            ..Finished::new(Outcome::Failed)
        }
    }

    #[test]
    fn an_object_that_is_met_later_keeps_its_name() {
        let failing = execution(&[
            (0, "load", "A1", 1),
            (1, "load", "A2", 5),
            (0, "store", "A3", 2),
            (1, "join", "task 2", 6),
        ]);
        let mut passing = execution(&[
            (0, "load", "A1", 1),
            (0, "store", "A2", 2),
            (1, "load", "A3", 5),
            (1, "swap", "A4", 7),
            (1, "join", "task 2", 6),
        ]);
        align(&failing, &mut passing);
        let names: Vec<&str> = passing
            .events
            .iter()
            .filter_map(|it| it.object.as_deref())
            .collect();
        assert_eq!(names, ["A1", "A3", "A2", "A4", "task 2"]);
    }

    #[test]
    fn an_object_of_only_one_execution_has_a_name_of_its_own() {
        let failing = execution(&[(0, "load", "A1", 1), (0, "load", "A2", 2)]);
        let mut passing = execution(&[(0, "load", "A1", 1), (0, "load", "A2", 9)]);
        align(&failing, &mut passing);
        assert_eq!(passing.events[1].object.as_deref(), Some("A3"));
    }
}
