//! One name for one object in two executions that are the same up to a step.

use std::collections::{HashMap, HashSet};

use crate::supervise::protocol::{Blocked, Finished, Step};

/// The n-th time that a task, or any, does something at a place.
type Moment<'a> = (
    Option<u32>,
    &'a str,
    Option<&'a str>,
    Option<u32>,
    Option<u32>,
    usize,
);

/// Names each object of `passing` as `failing` does. An object that both meet only after
/// they part is the same if a task meets it at the same moment, or else any task. One that
/// `failing` does not meet gets a name that it has not.
pub(super) fn align(failing: &Finished, passing: &mut Finished) {
    let waits = failing.blocked.iter().map(Blocked::to_step);
    let failing: Vec<Step> = failing.events.iter().cloned().chain(waits).collect();
    let same = |(a, b): &(&Step, &Step)| {
        (a.task, &a.op, &a.object) == (b.task, &b.op, &b.object) && a.location() == b.location()
    };
    let pairs = failing.iter().zip(&passing.events);
    let parted = pairs.take_while(same).count();
    let mut names: HashMap<String, String> = named(&failing[..parted])
        .map(|name| (name.to_owned(), name.to_owned()))
        .collect();
    let mut taken: HashSet<&str> = named(&failing[..parted]).collect();
    for of_task in [true, false] {
        let of_failing: HashMap<Moment<'_>, &str> = moments(&failing[parted..], of_task).collect();
        for (moment, object) in moments(&passing.events[parted..], of_task) {
            let met = of_failing.get(&moment).copied();
            let met = met.filter(|name| split(name).0 == split(object).0 && !taken.contains(name));
            if let Some(name) = met.filter(|_| !names.contains_key(object)) {
                taken.insert(name);
                names.insert(object.to_owned(), name.to_owned());
            }
        }
    }
    let mut next: HashMap<&str, usize> = HashMap::new();
    for (kind, number) in named(&failing).map(split) {
        let next = next.entry(kind).or_default();
        *next = (*next).max(number);
    }
    for object in named(&passing.events) {
        if !names.contains_key(object) {
            let (kind, _) = split(object);
            let next = next.entry(kind).or_default();
            *next += 1;
            names.insert(object.to_owned(), format!("{kind}{next}"));
        }
    }
    for object in passing
        .events
        .iter_mut()
        .filter_map(|it| it.object.as_mut())
    {
        if let Some(name) = names.get(object) {
            object.clone_from(name);
        }
    }
}

/// The objects of events that have names: those of tasks are their own.
fn named(events: &[Step]) -> impl Iterator<Item = &str> {
    let objects = events.iter().filter_map(|event| event.object.as_deref());
    objects.filter(|name| has_number(name))
}

fn has_number(name: &str) -> bool {
    !name.contains(' ') && name.ends_with(|c: char| c.is_ascii_digit())
}

/// `A12` as `A` and 12.
fn split(name: &str) -> (&str, usize) {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (kind, name[kind.len()..].parse().unwrap_or(0))
}

/// When objects with names are met, by a certain task or by any.
fn moments(events: &[Step], of_task: bool) -> impl Iterator<Item = (Moment<'_>, &str)> {
    let mut times = HashMap::new();
    let moments = events.iter().map(move |event| {
        let task = of_task.then_some(event.task);
        let place = (event.file.as_deref(), event.line, event.column);
        let time = times.entry((task, &*event.op, place)).or_insert(0);
        *time += 1;
        let moment = (task, &*event.op, place.0, place.1, place.2, *time);
        (moment, event.object.as_deref())
    });
    moments.filter_map(|(moment, object)| Some((moment, object.filter(|it| has_number(it))?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Outcome;

    fn execution(events: &[(u32, &str, &str, u32)]) -> Finished {
        let events = events.iter().map(|&(task, op, object, line)| Step {
            task,
            op: op.into(),
            object: Some(object.into()),
            file: Some("src/lib.rs".into()),
            line: Some(line),
            column: Some(1),
            preempted: false,
            note: None,
            call: None,
            caller: None,
            effect: None,
            read: None,
            written: None,
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
    fn what_only_one_execution_meets_has_a_name_of_its_own() {
        let failing = execution(&[(0, "load", "A1", 1), (0, "load", "A2", 2)]);
        let mut passing = execution(&[(0, "load", "A1", 1), (0, "load", "A2", 9)]);
        align(&failing, &mut passing);
        assert_eq!(passing.events[1].object.as_deref(), Some("A3"));
    }
}
