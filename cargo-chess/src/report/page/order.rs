//! Happens-before between events of different tasks: as few pairs as tell all of it.

use std::collections::{BTreeMap, HashMap};

use crate::supervise::protocol::{Effect, Finished, Step};

/// For each event the events of other tasks that it directly follows; those without
/// any are left out.
pub(super) fn order(finished: &Finished) -> BTreeMap<usize, Vec<usize>> {
    let scopes = finished
        .tasks
        .iter()
        .filter_map(|task| Some((task.id, task.scope.as_deref()?)));
    let mut order = Order {
        scopes: scopes.collect(),
        ..Order::default()
    };
    let events = finished.events.iter().enumerate();
    events
        .filter_map(|(index, event)| {
            let follows = order.follows(index, event);
            (!follows.is_empty()).then_some((index, follows))
        })
        .collect()
}

/// What later events of an object may follow: of each task the last one of its kind.
#[derive(Default)]
struct Object {
    write: Option<usize>,
    updates: BTreeMap<u32, usize>,
    reads: BTreeMap<u32, usize>,
}

/// For each task the last event that happens before.
type Clock = BTreeMap<u32, usize>;

#[derive(Default)]
struct Order<'a> {
    objects: HashMap<&'a str, Object>,
    /// The last event of each task.
    last: HashMap<u32, usize>,
    /// Tasks that have ended, and the scope that each was a task of.
    scopes: Vec<(u32, &'a str)>,
    /// What starts or wakes a task that has not run since.
    wakes: HashMap<u32, usize>,
    tasks: Vec<u32>,
    clocks: Vec<Clock>,
}

impl<'a> Order<'a> {
    fn follows(&mut self, index: usize, event: &'a Step) -> Vec<usize> {
        let mut before: Vec<usize> = self.wakes.remove(&event.task).into_iter().collect();
        let object = event.object.as_deref();
        let named = object.and_then(task_of);
        match (&*event.op, named) {
            ("spawn", Some(child)) => {
                self.wakes.insert(child, index);
            }
            ("join", Some(child)) => before.extend(self.last.get(&child)),
            ("scope end", _) => before.extend(self.ends_in(object)),
            ("start", _) => {}
            _ => before.extend(self.at_object(index, event)),
        }
        if let Some(woken) = event
            .note
            .as_deref()
            .and_then(|it| task_of(it.strip_prefix("wakes ")?))
        {
            self.wakes.insert(woken, index);
        }
        let before = self.reduced(event.task, before);
        let mut clock = Clock::new();
        if let Some(&own) = self.last.get(&event.task) {
            clock.clone_from(&self.clocks[own]);
        }
        for &earlier in &before {
            join(&mut clock, &self.clocks[earlier]);
        }
        clock.insert(event.task, index);
        self.last.insert(event.task, index);
        self.tasks.push(event.task);
        self.clocks.push(clock);
        before
    }

    /// The last events of a scope's tasks.
    fn ends_in(&self, scope: Option<&str>) -> Vec<usize> {
        let tasks = self.scopes.iter().filter(|(_, of)| Some(*of) == scope);
        tasks
            .filter_map(|(task, _)| self.last.get(task).copied())
            .collect()
    }

    /// What conflicts with the event at its object, as the runtime judges it.
    fn at_object(&mut self, index: usize, event: &'a Step) -> Vec<usize> {
        let (Some(name), Some(effect)) = (event.object.as_deref(), event.effect) else {
            return Vec::new();
        };
        let object = self.objects.entry(name).or_default();
        let mut before: Vec<usize> = object.write.into_iter().collect();
        match effect {
            Effect::Read | Effect::Enter | Effect::Leave => {
                before.extend(object.updates.values());
                object.reads.insert(event.task, index);
            }
            Effect::Update | Effect::Release => {
                before.extend(object.reads.values());
                object.updates.insert(event.task, index);
            }
            Effect::Acquire | Effect::Write => {
                before.extend(object.updates.values());
                before.extend(object.reads.values());
                *object = Object {
                    write: Some(index),
                    ..Object::default()
                };
            }
        }
        before
    }

    /// `before` without those of the task itself, and those that others of them follow.
    fn reduced(&self, task: u32, mut before: Vec<usize>) -> Vec<usize> {
        before.sort_unstable_by(|a, b| b.cmp(a));
        let mut known = Clock::new();
        if let Some(&own) = self.last.get(&task) {
            known.clone_from(&self.clocks[own]);
        }
        let mut direct = Vec::new();
        for earlier in before {
            let is_known = known
                .get(&self.tasks[earlier])
                .is_some_and(|last| *last >= earlier);
            if self.tasks[earlier] != task && !is_known {
                join(&mut known, &self.clocks[earlier]);
                direct.push(earlier);
            }
        }
        direct.reverse();
        direct
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (task, event) in other {
        let known = clock.entry(*task).or_default();
        *known = (*known).max(*event);
    }
}

/// The number in `task 2`.
fn task_of(name: &str) -> Option<u32> {
    name.strip_prefix("task ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Outcome;
    use crate::supervise::protocol::Task;

    fn step(task: u32, op: &str, object: &str, effect: Effect) -> Step {
        Step {
            task,
            op: op.into(),
            object: Some(object.into()),
            file: None,
            line: None,
            column: None,
            preempted: false,
            note: None,
            call: None,
            caller: None,
            effect: Some(effect),
            read: None,
            written: None,
        }
    }

    fn order_of(events: Vec<Step>) -> Vec<(usize, Vec<usize>)> {
        let finished = Finished {
            events,
            ..Finished::new(Outcome::Failed)
        };
        order(&finished).into_iter().collect()
    }

    #[test]
    fn reads_commute_and_writes_do_not() {
        let events = vec![
            step(0, "store", "A1", Effect::Write),
            step(1, "load", "A1", Effect::Read),
            step(2, "load", "A1", Effect::Read),
            step(0, "store", "A1", Effect::Write),
        ];
        let expected = [(1, vec![0]), (2, vec![0]), (3, vec![1, 2])];
        assert_eq!(order_of(events), expected);
    }

    #[test]
    fn what_follows_from_other_pairs_is_left_out() {
        let events = vec![
            step(0, "store", "A1", Effect::Write),
            step(0, "unlock", "M1", Effect::Release),
            step(1, "lock", "M1", Effect::Acquire),
            step(1, "load", "A1", Effect::Read),
        ];
        assert_eq!(order_of(events), [(2, vec![1])]);
    }

    #[test]
    fn a_task_begins_after_it_is_spawned_and_ends_before_it_is_joined() {
        let events = vec![
            step(0, "spawn", "task 1", Effect::Write),
            step(1, "start", "", Effect::Write),
            step(1, "exit", "", Effect::Write),
            step(0, "join", "task 1", Effect::Acquire),
        ];
        assert_eq!(order_of(events), [(1, vec![0]), (3, vec![2])]);
    }

    #[test]
    fn a_scope_ends_after_its_tasks_and_no_others() {
        let task = |id, scope: Option<&str>| Task {
            id,
            name: None,
            scope: scope.map(str::to_owned),
        };
        let finished = Finished {
            events: vec![
                step(1, "exit", "task 1", Effect::Write),
                step(2, "exit", "task 2", Effect::Write),
                step(3, "exit", "task 3", Effect::Write),
                step(0, "scope end", "scope 1", Effect::Acquire),
            ],
            tasks: vec![
                task(0, None),
                task(1, Some("scope 1")),
                task(2, Some("scope 2")),
                task(3, Some("scope 1")),
            ],
            ..Finished::new(Outcome::Failed)
        };
        let order: Vec<_> = order(&finished).into_iter().collect();
        assert_eq!(order, [(3, vec![0, 2])]);
    }
}
