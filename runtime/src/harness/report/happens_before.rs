//! The happens-before relation of events of different tasks, as the fewest pairs that imply it.

use std::collections::{BTreeMap, HashMap};

use crate::execution::{Effect, Event, Execution, ObjectId, Op, TaskId, task_of_object};

/// For each event, the events of other tasks that it directly follows.
pub(super) fn happens_before(execution: &Execution) -> Vec<Vec<usize>> {
    let scopes = execution
        .live_tasks()
        .filter(|(_, task)| task.scope != ObjectId::NONE)
        .map(|(id, task)| (id, task.scope));
    let mut order = Order {
        scopes: scopes.collect(),
        ..Order::default()
    };
    let task_at = |object: ObjectId| {
        let object = (object != ObjectId::NONE).then(|| execution.objects.get(object))?;
        task_of_object(object.address)
    };
    let events = execution.log.events.iter().enumerate();
    events
        .map(|(index, event)| order.follows(index, event, task_at(event.object)))
        .collect()
}

/// The events at an object that later events may directly follow: the last write and, for each
/// task, its last update and its last read since that write.
#[derive(Default)]
struct Object {
    write: Option<usize>,
    updates: BTreeMap<TaskId, usize>,
    reads: BTreeMap<TaskId, usize>,
}

/// The events that happen before an event, and this event itself: for each task, the last of them.
type Clock = BTreeMap<TaskId, usize>;

#[derive(Default)]
struct Order {
    objects: HashMap<u32, Object>,
    /// The last event of each task.
    last: HashMap<TaskId, usize>,
    /// The tasks of scopes, and the scope that waits for the end of each.
    scopes: Vec<(TaskId, ObjectId)>,
    /// For each task that was started or woken, and that has not run since: the event that did
    /// this.
    wakes: HashMap<TaskId, usize>,
    tasks: Vec<TaskId>,
    clocks: Vec<Clock>,
}

impl Order {
    /// Records `event`, and returns the events of other tasks that `event` directly follows.
    /// `named` is the task for which the object of `event` stands, if `event` is a spawn or a join,
    /// for example.
    fn follows(&mut self, index: usize, event: &Event, named: Option<TaskId>) -> Vec<usize> {
        let mut before: Vec<usize> = self.wakes.remove(&event.task).into_iter().collect();
        match (event.op, named) {
            (Op::Spawn, Some(child)) => {
                self.wakes.insert(child, index);
            }
            (Op::Join, Some(child)) => before.extend(self.last.get(&child)),
            (Op::ScopeEnd, _) => before.extend(self.ends_in(event.object)),
            (Op::Start | Op::Exit | Op::OpaqueCall, _) => {}
            _ if event.object == ObjectId::NONE => {}
            _ => before.extend(self.at_object(index, event)),
        }
        if let Some(woken) = event.note.woken() {
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
    fn ends_in(&self, scope: ObjectId) -> Vec<usize> {
        let tasks = self.scopes.iter().filter(|(_, of)| *of == scope);
        tasks
            .filter_map(|(task, _)| self.last.get(task).copied())
            .collect()
    }

    /// Records `event` at its object. Returns the earlier events at this object that conflict with
    /// `event` in the sense of the hash of happens-before.
    fn at_object(&mut self, index: usize, event: &Event) -> Vec<usize> {
        let object = self.objects.entry(event.object.0).or_default();
        let mut before: Vec<usize> = object.write.into_iter().collect();
        match event.effect {
            Effect::Read | Effect::Fail | Effect::TryEnter | Effect::Enter | Effect::Leave => {
                before.extend(object.updates.values());
                object.reads.insert(event.task, index);
            }
            Effect::Update | Effect::Release => {
                before.extend(object.reads.values());
                object.updates.insert(event.task, index);
            }
            // Entering a queue is not an event of the happens-before graph.
            Effect::Queue => {}
            Effect::Acquire | Effect::Rewrite | Effect::Write => {
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

    /// The events of `before`, without those that happen before `event` anyway: the events of
    /// `task` itself, and the events that happen before an earlier event of `task` or before
    /// another event of `before`.
    fn reduced(&self, task: TaskId, mut before: Vec<usize>) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Note;

    const NO_OBJECT: ObjectId = ObjectId::NONE;

    fn event(task: u32, op: Op, object: u32) -> Event {
        Event {
            site: None,
            task: TaskId(task),
            object: ObjectId(object),
            op,
            effect: op.effect(),
            preempted: false,
            note: Note::NONE,
        }
    }

    /// The events that follow others; the object of a spawn or join is the task's number.
    fn order_of(order: Order, events: &[Event]) -> Vec<(usize, Vec<usize>)> {
        let mut order = order;
        let follows = events.iter().enumerate().map(|(index, event)| {
            let is_of_task = matches!(event.op, Op::Spawn | Op::Join);
            let named = is_of_task.then_some(TaskId(event.object.0));
            (index, order.follows(index, event, named))
        });
        follows.filter(|(_, before)| !before.is_empty()).collect()
    }

    #[test]
    fn reads_commute_and_writes_do_not() {
        let events = [
            event(0, Op::AtomicStore, 1),
            event(1, Op::AtomicLoad, 1),
            event(2, Op::AtomicLoad, 1),
            event(0, Op::AtomicStore, 1),
        ];
        let expected = [(1, vec![0]), (2, vec![0]), (3, vec![1, 2])];
        assert_eq!(order_of(Order::default(), &events), expected);
    }

    #[test]
    fn pairs_that_follow_from_others_are_left_out() {
        let events = [
            event(0, Op::AtomicStore, 1),
            event(0, Op::MutexUnlock, 2),
            event(1, Op::MutexLock, 2),
            event(1, Op::AtomicLoad, 1),
        ];
        assert_eq!(order_of(Order::default(), &events), [(2, vec![1])]);
    }

    #[test]
    fn a_task_begins_after_it_is_spawned_and_ends_before_it_is_joined() {
        let events = [
            event(0, Op::Spawn, 1),
            event(1, Op::Start, NO_OBJECT.0),
            event(1, Op::Exit, NO_OBJECT.0),
            event(0, Op::Join, 1),
        ];
        let expected = [(1, vec![0]), (3, vec![2])];
        assert_eq!(order_of(Order::default(), &events), expected);
    }

    #[test]
    fn a_woken_task_continues_after_the_operation_that_woke_it() {
        let notify = Event {
            note: Note::wakes(TaskId(1)),
            ..event(0, Op::NotifyOne, 1)
        };
        let events = [notify, event(1, Op::YieldNow, NO_OBJECT.0)];
        assert_eq!(order_of(Order::default(), &events), [(1, vec![0])]);
    }

    #[test]
    fn a_scope_ends_after_its_tasks_and_no_others() {
        let order = Order {
            scopes: vec![
                (TaskId(1), ObjectId(7)),
                (TaskId(2), ObjectId(8)),
                (TaskId(3), ObjectId(7)),
            ],
            ..Order::default()
        };
        let events = [
            event(1, Op::Exit, NO_OBJECT.0),
            event(2, Op::Exit, NO_OBJECT.0),
            event(3, Op::Exit, NO_OBJECT.0),
            event(0, Op::ScopeEnd, 7),
        ];
        assert_eq!(order_of(order, &events), [(3, vec![0, 2])]);
    }
}
